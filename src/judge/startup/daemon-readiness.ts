import { CLOCK_SKEW_MS } from '../../kubernetes/time.ts';
import { daemonSetName, type ReadyDaemonSet } from '../../policy/ready-when.ts';
import { compiledCoverage, type SchedulingNode, type SchedulingView } from '../../scheduling/coverage.ts';
import { formatObstacle, type Obstacle } from '../../scheduling/obstacle.ts';
import type { StoredNode } from '../node-view.ts';
import { type Blocker, unmet } from './blocker.ts';

/** The fields of a pod on a node that show whether a DaemonSet is ready there. */
export interface DaemonPodOnNode {
  readonly namespace: string;
  /** The uid of the object that controls it; undefined if there is none. */
  readonly owner: string | undefined;
  /** In milliseconds since the epoch: whole seconds. */
  readonly createdAt: number;
  readonly isReady: boolean;
  readonly isTerminating: boolean;
}

/** An existing DaemonSet. */
export interface KnownDaemonSet {
  readonly uid: string;
  readonly value: SchedulingView & { readonly deleting: boolean };
}

/** A node that waits for DaemonSets. */
type WaitingNode = SchedulingNode & Pick<StoredNode, 'createdAt'>;

/** A DaemonSet that a node waits for, with what keeps its pods off the node. */
export interface AwaitedDaemonSet {
  readonly daemonSet: ReadyDaemonSet;
  /** Undefined if it does not exist. */
  readonly uid: string | undefined;
  readonly obstacles: readonly Obstacle[];
  /** Why it can have no pod on the node. Its pods are not read then. Undefined if it can. */
  readonly withoutPods: string | undefined;
}

export function awaitedOn(
  daemonSets: readonly ReadyDaemonSet[],
  node: WaitingNode,
  daemonSetOf: (one: ReadyDaemonSet) => KnownDaemonSet | undefined,
): AwaitedDaemonSet[] {
  return daemonSets.map((daemonSet) => {
    const known = daemonSetOf(daemonSet);
    const coverage = known && compiledCoverage(known.value)(node);
    const obstacles = coverage === undefined || coverage.runs ? [] : coverage.obstacles;
    return { daemonSet, uid: known?.uid, obstacles, withoutPods: whyWithoutPods(known, obstacles) };
  });
}

function whyWithoutPods(daemonSet: KnownDaemonSet | undefined, obstacles: readonly Obstacle[]): string | undefined {
  if (!daemonSet) return 'it does not exist';
  if (daemonSet.value.deleting) return 'it is being deleted';
  // An existing pod stays although a taint was added later.
  const unselected = obstacles.filter(({ kind }) => kind !== 'taint' && kind !== 'unknown');
  return unselected.length > 0
    ? `it does not select the node: ${unselected.map(formatObstacle).join(', ')}`
    : undefined;
}

/**
 * The DaemonSets of `readyWhen.daemonSets` that are not ready on a node. A DaemonSet is ready if it has a Ready pod there that is not being deleted and
 * was created after the Node (within {@link CLOCK_SKEW_MS}), of any revision. Pods of an earlier Node of the same name do not count. Nor do pods in
 * another namespace: the API server does not check that an owner exists.
 */
export function daemonSetBlockers(
  awaited: readonly AwaitedDaemonSet[],
  node: WaitingNode,
  pods: readonly DaemonPodOnNode[],
): Blocker[] {
  return awaited.flatMap((one) => {
    const inNamespace = pods.filter(({ namespace }) => namespace === one.daemonSet.namespace);
    const problem = one.withoutPods ?? problemOf(one, node, inNamespace);
    if (problem === undefined) return [];
    const name = daemonSetName(one.daemonSet);
    const text = `DaemonSet ${name}: ${problem}`;
    if (problem !== NO_POD || one.obstacles.length === 0) return unmet(text);
    const by = one.obstacles.flatMap((obstacle) => (obstacle.kind === 'taint' ? obstacle.taint : []));
    return { ...unmet(`${text}: ${one.obstacles.map(formatObstacle).join(', ')}`), keptOff: { name, by } };
  });
}

const NO_POD = 'it has no pod on the node';

function problemOf({ uid }: AwaitedDaemonSet, node: WaitingNode, pods: readonly DaemonPodOnNode[]): string | undefined {
  const { own = [], older = [] } = Object.groupBy(
    pods.filter(({ owner }) => owner === uid),
    ({ createdAt }) => (createdAt >= (node.createdAt ?? 0) - CLOCK_SKEW_MS ? 'own' : 'older'),
  );
  const current = own.filter(({ isTerminating }) => !isTerminating);
  if (current.some(({ isReady }) => isReady)) return undefined;
  if (current.length > 0) return 'its pod is not Ready';
  if (own.length > 0) return 'its pod is being deleted';
  // It may be Ready from another machine of that name. The DaemonSet creates no second pod while it exists.
  if (older.some(({ isTerminating }) => !isTerminating))
    return 'its pod is older than the Node: delete the pod, and the DaemonSet creates another one';
  return NO_POD;
}
