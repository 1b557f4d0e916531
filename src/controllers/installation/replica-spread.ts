import type { Logger } from 'pino';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { ApiError, isNotFound } from '../../cluster/client/api-error.ts';
import { formatSelector } from '../../cluster/daemon-pods.ts';
import type { ServiceRef } from '../../cluster/service-endpoint.ts';
import { listObjects } from '../../cluster/watch/list-pages.ts';
import { isNowhere, type ReplicaPod, replicaToMove } from '../../coverage/placement.ts';
import { viewPodScheduling } from '../../objects/workload-object.ts';
import { createBackOff } from '../../runtime/back-off.ts';
import { type Controller, type LeaderContext, startController } from '../context.ts';
import type { Nodes } from '../sources.ts';

const LOOK_MS = 15_000;
/** From one eviction to the next: the first one may have been in vain, as the scheduler knows more of nodes. */
const EVICTIONS = { minMs: 60_000, maxMs: 3_600_000 };

/** Nodes that are asked whether they have the image; not all of a large cluster are given it by hand. */
const MAX_LOOKED_AT = 10;

interface NodeImage {
  readonly names?: readonly string[];
}

export interface ReplicaSpreadOptions {
  readonly client: ApiClient;
  /** The Service whose pods are the replicas. */
  readonly service: ServiceRef;
  /** The name of this replica's own pod, which is not moved. */
  readonly self: string;
  readonly nodes: Nodes;
  /** Resolves when `nodes` has all of them. */
  readonly synced: Promise<unknown>;
  readonly log: Logger;
}

/**
 * Evicts a replica that shares its node with another one while a node that has none could take it. The PodDisruptionBudget is asked,
 * as by every eviction; a refusal is no failure.
 */
function replicaSpread({ client, service, self, nodes, synced, log }: ReplicaSpreadOptions) {
  const backOff = createBackOff(EVICTIONS);
  const path = `/api/v1/namespaces/${service.namespace}/pods`;
  let notBefore = 0;

  return async (): Promise<number> => {
    await synced;
    const replicas = await listReplicas();
    const known = Array.from(nodes.entries(), ({ value }) => value);
    const move = replicaToMove(replicas, known, self);
    if (!move) {
      if (replicas.every(({ serves }) => serves)) backOff.reset();
      return LOOK_MS;
    }
    const { replica, nodes: others } = move;
    if (performance.now() < notBefore || !(await canStartOn(others, replica.image))) return LOOK_MS;
    if (await evict(replica.name)) {
      notBefore = performance.now() + backOff.next();
      const from = `node ${replica.node}, which has another replica`;
      log.info(`evicted Pod ${replica.name} from ${from}, to start on another node`);
    }
    return LOOK_MS;
  };

  async function listReplicas(): Promise<ReplicaPod[]> {
    const { spec } = await client.request<{ spec?: { selector?: Record<string, string> } }>(
      'GET',
      `/api/v1/namespaces/${service.namespace}/services/${service.name}`,
    );
    // Whose endpoints somebody else writes has replicas that are not known here.
    if (!spec?.selector) return [];
    const labelSelector = formatSelector({ matchLabels: spec.selector });
    return listObjects(client, path, viewReplica, { labelSelector });
  }

  /** The scheduler may take any of these nodes: where the image cannot be pulled, all of them have to have it. */
  async function canStartOn(names: readonly string[], image: string): Promise<boolean> {
    if (!isNowhere(image)) return true;
    if (names.length > MAX_LOOKED_AT) return false;
    const found = await Promise.all(
      names.map((name) =>
        client.request<{ status?: { images?: readonly NodeImage[] } }>('GET', `/api/v1/nodes/${name}`),
      ),
    );
    return found.every(({ status }) => status?.images?.some(({ names: known }) => known?.includes(image)) ?? false);
  }

  /** False when it may not be evicted now, or is gone. */
  async function evict(name: string): Promise<boolean> {
    try {
      await client.request('POST', `${path}/${name}/eviction`, {
        body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace: service.namespace } },
      });
      return true;
    } catch (error) {
      if (isNotFound(error) || (error instanceof ApiError && error.status === 429)) return false;
      throw error;
    }
  }
}

function viewReplica(object: unknown): ReplicaPod {
  const { metadata, spec, status } = object as {
    metadata: { name: string; deletionTimestamp?: string };
    spec: { nodeName?: string; containers: readonly { image?: string }[] };
    status?: { conditions?: readonly { type: string; status: string }[] };
  };
  const isReady = status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;
  return {
    ...viewPodScheduling(object, []),
    name: metadata.name,
    node: spec.nodeName ?? '',
    image: spec.containers[0]?.image ?? '',
    serves: isReady && metadata.deletionTimestamp === undefined,
  };
}

export function startReplicaSpread(context: LeaderContext): Controller {
  return startController(context, 'replica-spread', replicaSpread({ ...context, self: context.identity }));
}
