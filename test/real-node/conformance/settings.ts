import { NAMESPACE } from '../../../scripts/chart.ts';
import { policyObject } from '../../e2e/policy-objects.ts';
import {
  installProduct,
  kubectl,
  type Pod,
  policiesReady,
  productPods,
  productReady,
  removeTaints,
} from '../product.ts';
import type { RealCluster } from '../real-cluster.ts';

/** What is in force in the cluster while Kubernetes' tests run. */
export interface Setting {
  readonly name: string;
  /** As a table's heading. */
  readonly what: string;
  /** Whether taintkeeper is installed. */
  readonly installs: boolean;
  /** Whether its policies concern requests of the tests, so that the API server calls taintkeeper. */
  readonly isCalled: boolean;
  prepare(cluster: RealCluster): Promise<void>;
}

/** They protect taints on all nodes, except those that the tests themselves set and remove, and have a toleration added to every DaemonSet. */
const STRICT = [
  policyObject('TaintPolicy', 'node-taints', {
    mode: 'Deny',
    taints: [{ key: 'node-role.kubernetes.io/*' }, { key: 'dedicated' }, { key: 'example.com/*' }],
    removalByAnnotation: 'Forbidden',
  }),
  policyObject('TolerationPolicy', 'all-daemon-sets', { mode: 'Mutate', daemonSets: { namespaces: ['*'] } }),
];

export const SETTINGS: readonly Setting[] = [
  { name: 'without', what: 'without taintkeeper', installs: false, isCalled: false, prepare: async () => {} },
  // The API server calls taintkeeper for taints of control planes and the DaemonSets of CNIs alone.
  { name: 'default', what: 'default policies', installs: true, isCalled: false, prepare: installProduct },
  {
    name: 'strict',
    what: 'strict policies',
    installs: true,
    isCalled: true,
    async prepare(cluster) {
      await installProduct(cluster);
      for (const policy of STRICT) await kubectl(cluster, ['apply', '-f', '-'], JSON.stringify(policy));
      await policiesReady(cluster);
    },
  },
];

/**
 * Checks that no replica failed. One is replaced where a test taints its node with NoExecute, as every other pod there is.
 *
 * Gives what the replicas that are left were asked, without dry runs, such as `142 allowed, 20 patched`; '' for nothing.
 * @throws Error when a replica is not ready, was restarted, or was replaced for another reason; when the API server does not call taintkeeper for
 *   the removal of a taint, or called it for no request of the tests where the policies concern some
 */
export async function checkReplicas(cluster: RealCluster, before: readonly Pod[], isCalled: boolean): Promise<string> {
  await productReady(cluster, 2);
  const removal = await removeTaints(cluster, 'n1');
  if (removal.status !== 403) throw new Error(`the API server let taints of n1 be removed: ${removal.status}`);
  const after = await productPods(cluster);
  const restarted = after.filter(({ status }) =>
    status.containerStatuses?.some(({ restartCount }) => restartCount > 0),
  );
  if (restarted.length > 0) throw new Error(`restarted: ${namesOf(restarted)}`);
  const replaced = before.filter(({ metadata }) => !after.some((pod) => pod.metadata.name === metadata.name));
  const evicted = await evictedByTaint(cluster);
  const lost = replaced.filter(({ metadata }) => !evicted.has(metadata.name));
  if (lost.length > 0) throw new Error(`replaced, and not evicted because of a taint: ${namesOf(lost)}`);
  const counts = new Map<string, number>();
  for (const { metadata } of after) {
    const path = `/api/v1/namespaces/${NAMESPACE}/pods/${metadata.name}:${ADMIN_PORT}/proxy/metrics`;
    for (const [, result = '', count] of (await kubectl(cluster, ['get', '--raw', path])).matchAll(REQUESTS)) {
      counts.set(result, (counts.get(result) ?? 0) + Number(count));
    }
  }
  const asked = [...counts].filter(([, count]) => count > 0);
  if (isCalled && asked.length === 0) throw new Error('the API server called taintkeeper for no request of the tests');
  return asked.map(([result, count]) => `${count} ${result}`).join(', ');
}

const ADMIN_PORT = 8080;
const REQUESTS = /^taintkeeper_admission_requests_total\{[^}]*result="([^"]+)"[^}]*\} (\d+)$/gm;

/** The names of the replicas that Kubernetes' taint eviction controller deleted. */
async function evictedByTaint(cluster: RealCluster): Promise<Set<string>> {
  const args = ['get', 'events', '-n', NAMESPACE, '--field-selector=reason=TaintManagerEviction', '-o', 'json'];
  const { items } = JSON.parse(await kubectl(cluster, args)) as {
    items: readonly { readonly involvedObject: { readonly name: string } }[];
  };
  return new Set(items.map(({ involvedObject }) => involvedObject.name));
}

const namesOf = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata.name).join(', ');
