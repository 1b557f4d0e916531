import type { ApiClient } from '../../cluster/client/api-client.ts';
import { evictReplica, listReplicas } from '../../cluster/installation/replica-pods.ts';
import type { ServiceRef } from '../../cluster/installation/service-ref.ts';
import { blockedDrain, isCordoned } from '../../scheduling/replica-spread.ts';
import type { Nodes, SyncState } from '../cluster-watches.ts';
import { type Controller, type Run, startControllerReconciler } from '../controller.ts';

/** `kubectl drain` repeats an eviction every five seconds. */
const CHECK_AGAIN_MS = 5_000;

export interface DrainReleaseOptions {
  readonly client: ApiClient;
  /** The Service whose pods are the replicas. */
  readonly service: ServiceRef;
  /** The name of this replica's own pod. */
  readonly pod: string;
  readonly nodes: Nodes & Pick<SyncState, 'synced'>;
  /** Makes this replica not ready while the drain of that node waits for its eviction; undefined: ready again. */
  readonly giveWay: (toDrainOf: string | undefined) => void;
}

/**
 * Lets the drain of the only node end. After the first eviction, the new replica stays unscheduled, and the PodDisruptionBudget protects the last
 * one. A budget with `unhealthyPodEvictionPolicy: AlwaysAllow` does not protect a pod that is not ready. The last replica therefore reports that it
 * is not ready, until it is evicted or the node is uncordoned.
 */
export function startDrainRelease(run: Run, { client, service, pod, nodes, giveWay }: DrainReleaseOptions): Controller {
  let released: string | undefined;
  const reconciler = startControllerReconciler(run, 'drain-release', reconcile);
  return {
    async stop() {
      await reconciler.stop();
      giveWay(undefined);
    },
  };

  async function reconcile(): Promise<number> {
    await nodes.synced;
    const known = Array.from(nodes.entries(), ({ value }) => value);
    const node = known.some(isCordoned) ? blockedDrain(await listReplicas(client, service), known, pod) : undefined;
    if (node === released) return CHECK_AGAIN_MS;
    if (node !== undefined) {
      const eviction = await evictReplica(client, service, pod, { dryRun: true });
      if (eviction.outcome === 'undecided') return eviction.retryAfterMs;
      // Without a budget, the drain evicts the replica, which serves until then.
      if (eviction.outcome === 'evicted') return CHECK_AGAIN_MS;
    }
    released = node;
    giveWay(node);
    run.log.info(
      node === undefined
        ? 'ready again: its node is not being drained, or another node takes replicas'
        : `not ready from now on, so that node ${node} can be drained: no other node takes a replica`,
    );
    return CHECK_AGAIN_MS;
  }
}
