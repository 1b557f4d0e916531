import { NETWORK_UNAVAILABLE_KEY, NOT_READY_KEY, UNSCHEDULABLE_KEY } from '../kubernetes/well-known-taints.ts';
import { compilePodCoverage, type PodScheduling, type SchedulingNode } from './coverage.ts';

/** One of several equal pods, and where it may run. */
export interface ReplicaPod extends PodScheduling {
  readonly name: string;
  /** The node that it is bound to; empty if it is not. */
  readonly node: string;
  /** Whether it serves, and is not being deleted. */
  readonly serves: boolean;
  /** The image in its spec. */
  readonly image: string;
}

/** The fields of a node that decide whether a pod may run there. */
export interface SpreadNode extends SchedulingNode {
  readonly ready: boolean;
}

/**
 * The replica to evict, so that it starts again on a node without one, and the nodes that could take it. If two share a node, a failure of that node
 * affects both. The scheduler puts them on two nodes, but never moves one when a node comes back. Nothing moves while one of them does not serve.
 *
 * @param staying the name of the one that is not evicted: the caller
 */
export function replicaToMove(
  replicas: readonly ReplicaPod[],
  nodes: Iterable<SpreadNode>,
  staying: string,
): { readonly replica: PlacedReplica; readonly nodes: readonly string[] } | undefined {
  if (!replicas.every(({ serves }) => serves)) return undefined;
  return movableReplica(replicas, nodes, staying);
}

/** A replica, whether or not it serves. */
export type PlacedReplica = Omit<ReplicaPod, 'serves'>;

function movableReplica(
  replicas: readonly PlacedReplica[],
  nodes: Iterable<SpreadNode>,
  staying: string | undefined,
): { readonly replica: PlacedReplica; readonly nodes: readonly string[] } | undefined {
  const crowded = [...Map.groupBy(replicas, ({ node }) => node).values()].filter(({ length }) => length > 1);
  const candidates = crowded.flat().filter(({ name }) => name !== staying);
  const known = [...nodes];
  const moves = candidates.map((replica) => ({ replica, nodes: freeNodes(replica, replicas, known) }));
  return moves.find((move) => move.nodes.length > 0);
}

/** The names of the nodes that have none of the replicas, and could take this one. */
export function freeNodes(
  replica: PlacedReplica,
  replicas: readonly PlacedReplica[],
  nodes: readonly SpreadNode[],
): string[] {
  const taken = new Set(replicas.map(({ node }) => node));
  const mayRunOn = compilePlaces(replica);
  return nodes.filter((node) => !taken.has(node.name) && mayRunOn(node)).map(({ name }) => name);
}

/**
 * The node that all replicas share, and the nodes that could take one of them. Undefined if they do not share one, or no other node could.
 */
export function sharedNode(
  replicas: readonly PlacedReplica[],
  nodes: Iterable<SpreadNode>,
): { readonly node: string; readonly replica: PlacedReplica; readonly others: readonly string[] } | undefined {
  const placed = new Set(replicas.map(({ node }) => node));
  const [node = ''] = placed;
  if (placed.size !== 1 || node === '') return undefined;
  const move = movableReplica(replicas, nodes, undefined);
  return move && { node, replica: move.replica, others: move.nodes };
}

/** Whether the node has the taint that Kubernetes sets for `kubectl cordon`, and `kubectl drain`, which cordons first. */
export function isCordoned({ taints }: Pick<SpreadNode, 'taints'>): boolean {
  return taints.some(({ key }) => key === UNSCHEDULABLE_KEY);
}

/**
 * The node whose drain cannot end: it is cordoned, the last serving replica runs on it, and no node could take the evicted ones. Their
 * PodDisruptionBudget then protects the last one as long as the node is cordoned.
 *
 * @param self the name of the last one
 */
export function blockedDrain(
  replicas: readonly ReplicaPod[],
  nodes: Iterable<SpreadNode>,
  self: string,
): string | undefined {
  const known = [...nodes];
  const last = replicas.find(({ name }) => name === self);
  const others = replicas.filter(({ name }) => name !== self);
  const waiting = others.filter(({ node }) => node === '');
  const own = known.find(({ name }) => name === last?.node);
  const isStuck =
    waiting.length > 0 &&
    !others.some(({ serves }) => serves) &&
    own !== undefined &&
    isCordoned(own) &&
    !waiting.some((replica) => known.some(compilePlaces(replica)));
  return isStuck ? own?.name : undefined;
}

/** The taints of a node that is not Ready, or whose network is not set up. */
const UNREADY_KEYS: readonly string[] = [NOT_READY_KEY, NETWORK_UNAVAILABLE_KEY];

/**
 * The nodes that an unscheduled replica waits for: they could take it once they are Ready and have a network. None if a node could take it now,
 * because then something else is missing.
 */
export function awaitedNodes<Node extends SpreadNode>(replica: PlacedReplica, nodes: readonly Node[]): Node[] {
  const mayRunOn = compilePlaces(replica);
  if (nodes.some(mayRunOn)) return [];
  return nodes.filter((node) => {
    const others = node.taints.filter(({ key }) => !UNREADY_KEYS.includes(key));
    return others.length < node.taints.length && mayRunOn({ ...node, ready: true, taints: others });
  });
}

/** Whether a node could take the replica, by labels and taints. Only the scheduler knows the free resources of the node. */
function compilePlaces(replica: PlacedReplica): (node: SpreadNode) => boolean {
  const coverageOn = compilePodCoverage(replica);
  return (node) => node.ready && coverageOn(node).runs;
}
