import { INSTALL, NAMESPACE } from '../../scripts/chart.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { type Answer, succeeded } from '../control-plane/rest.ts';
import { admin, node as nodeUser } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { type Conditioned, isReady } from './conditions.ts';
import type { RealCluster } from './real-cluster.ts';

const TIMEOUT_MS = 120_000;

export interface Pod {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName?: string; readonly containers: readonly { readonly image: string }[] };
  readonly status: {
    readonly phase: string;
    readonly podIP?: string;
    readonly reason?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly { readonly restartCount: number }[];
  };
}

/** Applies the manifest as it is, whose image the nodes have, and waits until its replicas are ready and all policies in force. */
export async function installProduct(cluster: RealCluster): Promise<void> {
  await kubectl(cluster, ['apply', '-f', INSTALL]);
  await productReady(cluster, 2);
  await policiesReady(cluster);
}

/** Makes a node a control plane, as kubeadm marks it. */
export async function markControlPlane(cluster: RealCluster, name: string): Promise<void> {
  const role = 'node-role.kubernetes.io/control-plane';
  const body = { metadata: { labels: { [role]: '' } }, spec: { taints: [{ key: role, effect: 'NoSchedule' }] } };
  await succeeded(cluster.request(admin, 'PATCH', `/api/v1/nodes/${name}`, { body, contentType: MERGE_PATCH }));
}

/** Runs kubectl. @throws Error with what it printed on stderr when it fails */
export async function kubectl(cluster: RealCluster, args: readonly string[], input?: string): Promise<string> {
  const { code, stdout, stderr } = await cluster.kubectl(args, input === undefined ? {} : { input });
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout;
}

export async function productPods(cluster: RealCluster): Promise<readonly Pod[]> {
  const { body } = await cluster.request<{ items: Pod[] }>(admin, 'GET', `/api/v1/namespaces/${NAMESPACE}/pods`);
  return body.items;
}

/** The pods that are ready and stay. */
export function readyPods(pods: readonly Pod[]): Pod[] {
  return pods.filter(({ metadata, status }) => !metadata.deletionTimestamp && isReady(status));
}

/** Waits until there are just so many pods, all of them ready. */
export async function productReady(cluster: RealCluster, replicas: number): Promise<void> {
  let last: readonly Pod[] = [];
  await waitUntil(
    async () => {
      last = await productPods(cluster);
      return last.length === replicas && readyPods(last).length === replicas ? true : undefined;
    },
    { timeoutMs: TIMEOUT_MS, otherwise: () => `${replicas} ready replicas are expected: ${describePods(last)}` },
  );
}

interface PolicyList {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly generation: number };
    readonly status?: Conditioned;
  }[];
}

/** Waits until there are policies, and all of them are Ready as they are now. */
export async function policiesReady(cluster: RealCluster): Promise<void> {
  let last = '';
  await waitUntil(
    async () => {
      const answers = await Promise.all(
        ['taintpolicies', 'tolerationpolicies'].map((resource) =>
          cluster.request<PolicyList>(admin, 'GET', `/apis/taintkeeper.dev/v1alpha1/${resource}`),
        ),
      );
      const policies = answers.flatMap(({ body }) => body.items ?? []);
      last = JSON.stringify(policies.map(({ metadata, status }) => [metadata.name, status?.conditions]));
      return policies.length >= 2 && policies.every(({ metadata, status }) => isReady(status, metadata.generation))
        ? true
        : undefined;
    },
    { timeoutMs: TIMEOUT_MS, otherwise: () => `policies are not Ready: ${last}` },
  );
}

/** Waits until the API server calls the webhook of a policy that sets this taint on new nodes: its Ready comes a moment earlier. */
export async function setAtRegistration(cluster: RealCluster, key: string): Promise<void> {
  const path = '/api/v1/nodes/probe';
  const body = { metadata: { name: 'probe', labels: { 'kubernetes.io/hostname': 'probe' } } };
  await waitUntil(
    async () => {
      await cluster.request(admin, 'DELETE', path);
      const made = await cluster.request<{ spec?: { taints?: readonly { key: string }[] } }>(
        nodeUser('probe'),
        'POST',
        '/api/v1/nodes',
        { body },
      );
      return made.body.spec?.taints?.some((taint) => taint.key === key) || undefined;
    },
    { timeoutMs: TIMEOUT_MS, otherwise: () => `the webhook does not add taint ${key}` },
  );
  await cluster.request(admin, 'DELETE', path);
}

export function describePods(pods: readonly Pod[]): string {
  const texts = pods.map(({ metadata, spec, status }) =>
    [
      metadata.name,
      spec.nodeName ?? 'nowhere',
      status.phase,
      status.reason,
      metadata.deletionTimestamp && 'deleted',
    ].filter(Boolean),
  );
  return texts.map((words) => words.join(' ')).join(', ');
}

/** One dry run that removes all taints of a node, which a policy is to refuse. */
export function removeTaints(cluster: RealCluster, node: string): Promise<Answer> {
  const payload = { body: { spec: { taints: null } }, contentType: MERGE_PATCH };
  return cluster.request(admin, 'PATCH', `/api/v1/nodes/${node}?dryRun=All`, payload);
}
