import type { ApiClient } from '../../cluster/client/api-client.ts';
import { listFew } from '../../cluster/list/list-objects.ts';
import { type ClusterNode, keepNode } from '../../cluster/objects/cluster-objects.ts';
import type { ClusterState } from '../../controllers/cluster-state.ts';

/** Some 40 MB in all, read page by page and not kept. In a larger cluster only the leader, which has the nodes in memory, knows them. */
const MOST_NODES = 1_000;
/** The labels and taints of these nodes together, which take 40 MB at most: users decide how many labels a node has. */
const MOST_VALUES = 200_000;

export interface KnownNodesOptions {
  readonly client: ApiClient;
  /** While this replica leads. */
  readonly clusterState: () => Pick<ClusterState, 'isSynced' | 'nodes'> | undefined;
  /** For one read. */
  readonly timeoutMs: number;
  readonly onFailure: (error: unknown) => void;
}

/** Returns a function for all nodes: the leader has them in memory, and another replica reads them. Its result is undefined if they are not all known. */
export function knownNodes({
  client,
  clusterState,
  timeoutMs,
  onFailure,
}: KnownNodesOptions): () => Promise<readonly ClusterNode[] | undefined> {
  /** The read in progress: never two at a time. Its result is not used again, because nodes may change as a result of the warning. */
  let reading: Promise<readonly ClusterNode[] | undefined> | undefined;

  return () => {
    const own = clusterState();
    if (own?.isSynced()) return Promise.resolve(own.nodes());
    reading ??= readNodes().finally(() => {
      reading = undefined;
    });
    return reading;
  };

  async function readNodes(): Promise<readonly ClusterNode[] | undefined> {
    let values = 0;
    const keep = (object: unknown) => {
      const node = keepNode(object);
      values += Object.keys(node.labels).length + node.taints.length;
      if (values > MOST_VALUES) throw new Error(`the nodes have more than ${MOST_VALUES} labels and taints`);
      return node;
    };
    try {
      return await listFew(client, '/api/v1/nodes', keep, { most: MOST_NODES, timeoutMs });
    } catch (error) {
      onFailure(error);
      return undefined;
    }
  }
}
