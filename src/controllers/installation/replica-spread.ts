import type { ApiClient } from '../../cluster/client/api-client.ts';
import { evictReplica, listReplicas } from '../../cluster/installation/replica-pods.ts';
import type { ServiceRef } from '../../cluster/installation/service-ref.ts';
import { isOnlyLoadable } from '../../scheduling/only-loadable.ts';
import { freeNodes, replicaToMove } from '../../scheduling/replica-spread.ts';
import type { Nodes, SyncState } from '../cluster-watches.ts';
import { type Controller, type Run, startControllerReconciler } from '../controller.ts';

const CHECK_AGAIN_MS = 15_000;
const LEAST_PAUSE_MS = 60_000;
/** Resources of a node may become free without a change that this controller reads. */
const TRY_AGAIN_MS = 3_600_000;

/** Nodes whose images are read at most. In a larger cluster, images are not loaded onto each node by hand. */
const MAX_INSPECTED = 10;

interface NodeImage {
  readonly names?: readonly string[];
}

export interface ReplicaSpreadOptions {
  readonly client: ApiClient;
  /** The Service whose pods are the replicas. */
  readonly service: ServiceRef;
  /** The name of this replica's own pod, which is not moved. */
  readonly pod: string;
  readonly nodes: Nodes & Pick<SyncState, 'synced'>;
}

/**
 * Evicts a replica that shares its node with another one while a node without a replica could run it. The PodDisruptionBudget applies, and a
 * refused eviction is not a failure. After an eviction that changed nothing, the scheduler has a reason that labels and taints do not show, such as a
 * full node. The same nodes are tried again after an hour, or when one of them was not free in between.
 */
export function startReplicaSpread(run: Run, { client, service, pod, nodes }: ReplicaSpreadOptions): Controller {
  /** The nodes that could have run the replica that was evicted last, and have been free since. */
  let tried: ReadonlySet<string> = new Set();
  let evictedAt = Number.NEGATIVE_INFINITY;
  return startControllerReconciler(run, 'replica-spread', reconcile);

  async function reconcile(): Promise<number> {
    await nodes.synced;
    const replicas = await listReplicas(client, service);
    const known = Array.from(nodes.entries(), ({ value }) => value);
    // Also while a replica does not serve: a node may get a replica and lose it again before all of them do.
    const before = known.filter(({ name }) => tried.has(name));
    tried = new Set(replicas.flatMap((replica) => freeNodes(replica, replicas, before)));
    const move = replicaToMove(replicas, known, pod);
    if (!move) return CHECK_AGAIN_MS;
    const { replica, nodes: others } = move;
    const pauseMs = others.every((name) => tried.has(name)) ? TRY_AGAIN_MS : LEAST_PAUSE_MS;
    if (performance.now() - evictedAt < pauseMs || !(await canStartOn(others, replica.image))) return CHECK_AGAIN_MS;
    const eviction = await evictReplica(client, service, replica.name);
    if (eviction.outcome === 'undecided') return eviction.retryAfterMs;
    if (eviction.outcome === 'evicted') {
      tried = new Set(others);
      evictedAt = performance.now();
      const from = `node ${replica.node}, which has another replica`;
      run.log.info(`evicted Pod ${replica.name} from ${from}, to start on another node`);
    }
    return CHECK_AGAIN_MS;
  }

  /** The scheduler may select any of these nodes. If the image cannot be pulled, all of them must have it. */
  async function canStartOn(names: readonly string[], image: string): Promise<boolean> {
    if (!isOnlyLoadable(image)) return true;
    if (names.length > MAX_INSPECTED) return false;
    const found = await Promise.all(
      names.map((name) =>
        client.request<{ status?: { images?: readonly NodeImage[] } }>('GET', `/api/v1/nodes/${name}`),
      ),
    );
    return found.every(({ status }) => status?.images?.some(({ names: known }) => known?.includes(image)) ?? false);
  }
}
