import { connect } from '../../src/cluster/client/api-client.ts';
import type { WatchCache } from '../../src/cluster/watch/watch-cache.ts';
import { watchResource } from '../../src/cluster/watch/watch-cache.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { succeeded } from '../control-plane/rest.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { captureLog } from '../unit/captured-log.ts';
import { createDaemonSet, daemonSetManifest, getDaemonSet } from './daemon-sets.ts';

const PODS = '/api/v1/namespaces/kube-system/pods';
/** The longest back-off that a test waits for is 16 s. */
const REPLACED_TIMEOUT_MS = 40_000;

interface DaemonPod {
  readonly daemonSet: string;
  readonly node: string;
  readonly phase: string;
}

export interface DaemonPods {
  /** uid of the present pod, if there is one that is not Failed. */
  healthy(daemonSet: string, node: string): string | undefined;
  /** Waits for a pod in this phase, another one than that. */
  waitFor(daemonSet: string, node: string, phase: string, otherThan?: string): Promise<string>;
  /** Makes the present pod Failed, as its kubelet would. Gives its uid. */
  fail(daemonSet: string, node: string): Promise<string>;
  /** The same, and in how many milliseconds there is another one, which runs unless said otherwise. */
  failAndWait(daemonSet: string, node: string, phase?: string): Promise<number>;
  stop(): Promise<void>;
}

/** Follows the pods of kube-system. */
export async function followDaemonPods(cp: ControlPlane): Promise<DaemonPods> {
  const client = await connect({ kubeconfig: await cp.kubeconfigFile(admin), userAgent: 'daemon-pods' });
  const cache: WatchCache<DaemonPod> = watchResource<DaemonPod>({
    client,
    path: PODS,
    project(object) {
      const { metadata, spec, status } = object as {
        metadata: { ownerReferences?: { name: string }[] };
        spec: { nodeName?: string };
        status: { phase: string };
      };
      return {
        daemonSet: metadata.ownerReferences?.[0]?.name ?? '',
        node: spec.nodeName ?? '',
        phase: status.phase,
      };
    },
    log: captureLog().log,
  });
  await cache.synced;
  const find = (daemonSet: string, node: string, matches: (phase: string, uid: string) => boolean) =>
    [...cache.entries()].find(
      ({ uid, value }) => value.daemonSet === daemonSet && value.node === node && matches(value.phase, uid),
    );
  const pods: DaemonPods = {
    healthy: (daemonSet, node) => find(daemonSet, node, (phase) => phase !== 'Failed')?.uid,
    waitFor: (daemonSet, node, expected, otherThan) =>
      waitUntil(() => find(daemonSet, node, (phase, uid) => phase === expected && uid !== otherThan)?.uid, {
        timeoutMs: REPLACED_TIMEOUT_MS,
        otherwise: () => `no pod of ${daemonSet} on ${node} is ${expected}: ${JSON.stringify([...cache.entries()])}`,
      }),
    async fail(daemonSet, node) {
      const pod = find(daemonSet, node, (phase) => phase !== 'Failed');
      if (!pod) throw new Error(`there is no pod of ${daemonSet} on ${node} that could fail`);
      const body = { metadata: { uid: pod.uid }, status: { phase: 'Failed', reason: 'NodeShutdown' } };
      await succeeded(cp.request(admin, 'PATCH', `${PODS}/${pod.name}/status`, { body, contentType: MERGE_PATCH }));
      return pod.uid;
    },
    async failAndWait(daemonSet, node, phase = 'Running') {
      const began = performance.now();
      const uid = await pods.fail(daemonSet, node);
      await pods.waitFor(daemonSet, node, phase, uid);
      return performance.now() - began;
    },
    async stop() {
      await cache.stop();
      client.close();
    },
  };
  return pods;
}

/** A DaemonSet in kube-system for the nodes with the label `pool`. */
export function createForPool(cp: ControlPlane, name: string, pool: string): Promise<void> {
  // As network plugins: otherwise there is none on a node that is not ready.
  const podSpec = { nodeSelector: { pool }, tolerations: [{ operator: 'Exists' }] };
  return createDaemonSet(cp, daemonSetManifest('kube-system', name, podSpec));
}

/** How often the template of a DaemonSet was changed since it was created. */
export async function restarts(cp: ControlPlane, name: string): Promise<number> {
  return (await getDaemonSet(cp, 'kube-system', name)).metadata.generation - 1;
}

/** When the user deleted pods of the DaemonSet, in milliseconds since the epoch. What came too late (404, 409) does not count. */
export function podDeletionTimes(cp: ControlPlane, daemonSet: string, user: string): number[] {
  const deletions = cp.auditLog().filter(({ verb, user: by, objectRef, responseStatus }) => {
    const isPod = objectRef?.resource === 'pods' && objectRef.name?.startsWith(`${daemonSet}-`);
    return verb === 'delete' && by.username === user && isPod && responseStatus?.code === 200;
  });
  return deletions.map(({ requestReceivedTimestamp }) => Date.parse(requestReceivedTimestamp));
}
