import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NAMESPACE } from '../../../../scripts/chart.ts';
import { MERGE_PATCH } from '../../../control-plane/content-types.ts';
import { succeeded } from '../../../control-plane/rest.ts';
import { admin } from '../../../control-plane/users.ts';
import { waitUntil } from '../../../control-plane/wait-until.ts';
import { kubectl, policiesReady, productReady } from '../../product.ts';
import type { RealCluster } from '../../real-cluster.ts';

const TIMEOUT_MS = 60_000;
/** A leader that may put a webhook configuration right does so within a second. */
const STAYS_MS = 2_000;
const RIGHTS = join(import.meta.dirname, '../../../../manifests/rights/native-policies.yaml');
const POLICIES = ['taintpolicies/control-plane-taints', 'tolerationpolicies/cni-tolerations'];
const CONFIGURATIONS = ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'].map(
  (resource) => `/apis/admissionregistration.k8s.io/v1/${resource}/taintkeeper`,
);

export interface RegisteredWebhook {
  readonly name: string;
  readonly timeoutSeconds: number;
}

/** Changes what is registered, and takes the right from the leader to put it back. */
export async function changeWebhooks(
  cluster: RealCluster,
  change: (webhooks: readonly RegisteredWebhook[]) => readonly RegisteredWebhook[],
): Promise<void> {
  const role = '/apis/rbac.authorization.k8s.io/v1/clusterroles/taintkeeper';
  const { body } = await cluster.request<{ rules: { apiGroups: string[]; verbs: string[] }[] }>(admin, 'GET', role);
  const rules = body.rules.map((rule) =>
    rule.apiGroups.includes('admissionregistration.k8s.io')
      ? { ...rule, verbs: rule.verbs.filter((verb) => ['get', 'list', 'watch'].includes(verb)) }
      : rule,
  );
  await patch(cluster, role, { rules: rules.filter(({ verbs }) => verbs.length > 0) });
  for (const path of CONFIGURATIONS) {
    const webhooks = async () =>
      (await cluster.request<{ webhooks: RegisteredWebhook[] }>(admin, 'GET', path)).body.webhooks;
    const changed = change(await webhooks());
    let since = performance.now();
    await waitUntil(
      async () => {
        if (JSON.stringify(await webhooks()) !== JSON.stringify(changed)) {
          await patch(cluster, path, { webhooks: changed });
          since = performance.now();
        }
        return performance.now() - since > STAYS_MS ? true : undefined;
      },
      { timeoutMs: TIMEOUT_MS, otherwise: () => `the leader still restores ${path}` },
    );
  }
}

/** Sets fields of the default TaintPolicy. */
export async function changePolicy(cluster: RealCluster, spec: object): Promise<void> {
  await patch(cluster, '/apis/taintkeeper.dev/v1alpha1/taintpolicies/control-plane-taints', { spec });
  await policiesReady(cluster);
}

/** Both default policies once more as native policies. */
export async function addBackstop(cluster: RealCluster): Promise<void> {
  await kubectl(cluster, ['apply', '-f', '-'], readFileSync(RIGHTS, 'utf8'));
  for (const policy of POLICIES) {
    await patch(cluster, `/apis/taintkeeper.dev/v1alpha1/${policy}`, { spec: { backstop: 'Native' } });
    await kubectl(cluster, [
      'wait',
      policy.replace('/', '.taintkeeper.dev/'),
      '--for=condition=Backstop',
      '--timeout=60s',
    ]);
  }
}

/** How long replicas are left on a node that is gone, in seconds. */
export async function setTolerationSeconds(cluster: RealCluster, seconds: number): Promise<void> {
  const path = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/taintkeeper`;
  const { body } = await cluster.request<{
    spec: { template: { spec: { tolerations: { tolerationSeconds?: number }[] } } };
  }>(admin, 'GET', path);
  const tolerations = body.spec.template.spec.tolerations.map((toleration) =>
    toleration.tolerationSeconds === undefined ? toleration : { ...toleration, tolerationSeconds: seconds },
  );
  await patch(cluster, path, { spec: { template: { spec: { tolerations } } } });
  await kubectl(cluster, ['rollout', 'status', 'deployment/taintkeeper', '-n', NAMESPACE, '--timeout=60s']);
  await productReady(cluster, 2);
}

/** Which replicas kube-proxy leads to, where it has a choice. */
export async function setTrafficDistribution(cluster: RealCluster, trafficDistribution: string): Promise<void> {
  await patch(cluster, `/api/v1/namespaces/${NAMESPACE}/services/taintkeeper`, { spec: { trafficDistribution } });
}

async function patch(cluster: RealCluster, path: string, body: object): Promise<void> {
  await succeeded(cluster.request(admin, 'PATCH', path, { body, contentType: MERGE_PATCH }));
}
