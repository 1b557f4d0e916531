import type { Toleration } from '../../src/kubernetes/toleration.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { WITH_KUBELET } from '../control-plane/kubelets/with-kubelet.ts';
import { taintkeeperAccount } from '../control-plane/replicas.ts';
import { succeeded } from '../control-plane/rest.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { FLANNEL_AFTER_PR_1907, MASTER } from '../unit/judge/request/daemon-set-cases.ts';
import { path as nodePath, type Taint } from './nodes.ts';

const TIMEOUT_MS = 45_000;

/** The part of a DaemonSet that tests look into. */
export interface DaemonSet {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly generation: number;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly template: { readonly spec: { readonly tolerations?: readonly Toleration[] } } };
  readonly status: {
    readonly observedGeneration?: number;
    readonly desiredNumberScheduled: number;
    readonly updatedNumberScheduled?: number;
    readonly numberUnavailable?: number;
  };
}

export const daemonSetPath = (namespace: string, name = '') =>
  `/apis/apps/v1/namespaces/${namespace}/daemonsets/${name}`;

/** A DaemonSet that is yet to be. */
interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Pick<DaemonSet['metadata'], 'name' | 'namespace' | 'annotations'>;
  readonly spec: object;
}

/** One whose pods have what the pod spec says, and one container unless it says other ones. */
export function daemonSetManifest(
  namespace: string,
  name: string,
  podSpec: object = {},
  annotations: Readonly<Record<string, string>> = {},
): Manifest {
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name, namespace, annotations },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          // Nothing has to shut down, and on some nodes there is no kubelet that would say when it has.
          terminationGracePeriodSeconds: 0,
          containers: [{ name: 'main', image: 'example.com/main:1' }],
          ...podSpec,
        },
      },
    },
  };
}

/** Creates it, and waits for nothing. */
export async function createDaemonSet(cp: ControlPlane, manifest: Manifest): Promise<void> {
  await succeeded(cp.request(admin, 'POST', daemonSetPath(manifest.metadata.namespace), { body: manifest }));
}

export interface Placing {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly nodeSelector?: Readonly<Record<string, string>>;
}

/** A DaemonSet with Flannel's tolerations. */
export function flannelManifest(
  namespace: string,
  name: string,
  { annotations, nodeSelector }: Placing = {},
): Manifest {
  return daemonSetManifest(namespace, name, { nodeSelector, tolerations: FLANNEL_AFTER_PR_1907 }, annotations);
}

/** Creates one with Flannel's tolerations, and waits until its pods are available. */
export async function runFlannel(cp: ControlPlane, namespace: string, name: string, placing: Placing = {}) {
  await createDaemonSet(cp, flannelManifest(namespace, name, placing));
  return waitForDaemonSet(cp, namespace, name, isAvailable);
}

export async function getDaemonSet(cp: ControlPlane, namespace: string, name: string): Promise<DaemonSet> {
  return (await cp.request<DaemonSet>(admin, 'GET', daemonSetPath(namespace, name))).body;
}

export async function waitForDaemonSet(
  cp: ControlPlane,
  namespace: string,
  name: string,
  expected: (daemonSet: DaemonSet) => boolean,
): Promise<DaemonSet> {
  let last: DaemonSet | undefined;
  return waitUntil(
    async () => {
      last = await getDaemonSet(cp, namespace, name);
      return expected(last) ? last : undefined;
    },
    {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => `${namespace}/${name} is ${JSON.stringify([last?.metadata, last?.status])}`,
    },
  );
}

/** All pods are there, of the present template, and available. */
export function isAvailable({ metadata, status }: DaemonSet): boolean {
  return (
    status.observedGeneration === metadata.generation &&
    status.desiredNumberScheduled > 0 &&
    status.updatedNumberScheduled === status.desiredNumberScheduled &&
    !status.numberUnavailable
  );
}

export function toleratesMaster({ spec }: DaemonSet): boolean {
  return (spec.template.spec.tolerations ?? []).some(({ key }) => key === MASTER.key);
}

/** The nodes on which pods of the DaemonSet run. */
export async function nodesWithPods(cp: ControlPlane, namespace: string, name: string): Promise<string[]> {
  const { body } = await cp.request<{ items: { spec: { nodeName?: string }; status: { phase: string } }[] }>(
    admin,
    'GET',
    `/api/v1/namespaces/${namespace}/pods?labelSelector=app%3D${name}`,
  );
  const running = body.items.filter(({ status }) => status.phase === 'Running');
  return running.map(({ spec }) => spec.nodeName ?? '').sort();
}

/** The DaemonSets of the namespace that taintkeeper has written: a name for each write, in the order of the audit log. */
export function writtenDaemonSets(cp: ControlPlane, namespace: string): string[] {
  const writes = cp.auditLog().filter(({ user, objectRef, responseStatus }) => {
    const isInNamespace = objectRef?.resource === 'daemonsets' && objectRef.namespace === namespace;
    const isBySelf = user.username === taintkeeperAccount.name && responseStatus?.code === 200;
    return isInNamespace && !objectRef.subresource && isBySelf;
  });
  return writes.map(({ objectRef }) => objectRef?.name ?? '');
}

/** How often taintkeeper has written the DaemonSet. */
export function countWrites(cp: ControlPlane, namespace: string, name: string): number {
  return writtenDaemonSets(cp, namespace).filter((written) => written === name).length;
}

/** A node with a kubelet: it is ready, and what is scheduled to it runs. */
export async function createFakeNode(cp: ControlPlane, name: string, taints: Taint[]): Promise<void> {
  const metadata = { name, labels: { pool: 'main' }, annotations: WITH_KUBELET };
  await succeeded(cp.request(admin, 'POST', '/api/v1/nodes', { body: { metadata, spec: { taints } } }));
}

/** A node that is ready, on which nothing ever runs by itself. */
export async function createSilentNode(cp: ControlPlane, name: string, taints: Taint[]): Promise<void> {
  await succeeded(cp.request(admin, 'POST', '/api/v1/nodes', { body: { metadata: { name }, spec: { taints } } }));
  await setReady(cp, name);
}

/** What the kubelet of a node with room for pods would report. */
export async function setReady(cp: ControlPlane, name: string, status: 'True' | 'False' = 'True'): Promise<void> {
  const now = new Date().toISOString();
  const conditions = [{ type: 'Ready', status, reason: 'Test', lastHeartbeatTime: now, lastTransitionTime: now }];
  const room = { cpu: '32', memory: '256Gi', pods: '110' };
  const body = { status: { conditions, allocatable: room, capacity: room } };
  await succeeded(cp.request(admin, 'PATCH', `${nodePath(name)}/status`, { body, contentType: MERGE_PATCH }));
}

/** What its kubelet would say once the pods of a node run. */
export async function runPodsOf(cp: ControlPlane, node: string): Promise<void> {
  const { body } = await cp.request<{ items: { metadata: { name: string; namespace: string } }[] }>(
    admin,
    'GET',
    `/api/v1/pods?fieldSelector=spec.nodeName%3D${node}`,
  );
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  for (const { metadata } of body.items) {
    const url = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}/status`;
    await succeeded(cp.request(admin, 'PATCH', url, { body: { status }, contentType: MERGE_PATCH }));
  }
}
