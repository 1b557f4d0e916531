import { NAMESPACE } from '../../../scripts/chart.ts';
import { policyObject } from '../../e2e/policy-objects.ts';
import { installProduct, kubectl, type Pod, policiesReady, productPods, productReady } from '../product.ts';
import type { RealCluster } from '../real-cluster.ts';

/** What is in force in the cluster while Kubernetes' tests run. */
export interface Setting {
  readonly name: string;
  /** As a table's heading. */
  readonly what: string;
  /** Whether taintkeeper is installed. */
  readonly installs: boolean;
  prepare(cluster: RealCluster): Promise<void>;
}

/** They protect every taint that can be protected, and have a toleration added to every DaemonSet. */
const STRICT = [
  policyObject('TaintPolicy', 'all-taints', {
    mode: 'Deny',
    taints: [{ key: '*', restrict: ['Removal'] }],
    removalByAnnotation: 'Forbidden',
  }),
  policyObject('TolerationPolicy', 'all-daemon-sets', { mode: 'Mutate', daemonSets: { namespaces: ['*'] } }),
];

export const SETTINGS: readonly Setting[] = [
  { name: 'without', what: 'without taintkeeper', installs: false, prepare: async () => {} },
  { name: 'default', what: 'default policies', installs: true, prepare: installProduct },
  {
    name: 'strict',
    what: 'strict policies',
    installs: true,
    async prepare(cluster) {
      await installProduct(cluster);
      for (const policy of STRICT) await kubectl(cluster, ['apply', '-f', '-'], JSON.stringify(policy));
      await policiesReady(cluster);
    },
  },
];

/**
 * Checks that both replicas lasted. Gives what they were asked meanwhile, without dry runs, such as `142 allowed, 20 patched`.
 * @throws Error when a replica is not ready, was replaced or was restarted
 */
export async function checkReplicas(cluster: RealCluster, before: readonly Pod[]): Promise<string> {
  await productReady(cluster, 2);
  const after = await productPods(cluster);
  if (namesOf(after) !== namesOf(before)) throw new Error(`${namesOf(before)} were replaced by ${namesOf(after)}`);
  const counts = new Map<string, number>();
  for (const { metadata } of after) {
    const metrics = await kubectl(cluster, [
      'get',
      '--raw',
      `/api/v1/namespaces/${NAMESPACE}/pods/${metadata.name}:${ADMIN_PORT}/proxy/metrics`,
    ]);
    for (const [, result = '', count] of metrics.matchAll(REQUESTS)) {
      counts.set(result, (counts.get(result) ?? 0) + Number(count));
    }
  }
  const asked = [...counts].filter(([, count]) => count > 0);
  if (asked.length === 0) throw new Error('the API server never called taintkeeper');
  return asked.map(([result, count]) => `${count} ${result}`).join(', ');
}

const ADMIN_PORT = 8080;
const REQUESTS = /^taintkeeper_admission_requests_total\{[^}]*result="([^"]+)"[^}]*\} (\d+)$/gm;

/** With their restarts, each of which is another process. */
function namesOf(pods: readonly Pod[]): string {
  return pods
    .map(({ metadata, status }) => {
      const restarts = (status.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0);
      return `${metadata.name} (${restarts} restarts)`;
    })
    .sort()
    .join(', ');
}
