import { sameTaint, type Taint, taintIdentity } from '../../kubernetes/taint.ts';
import { isTransientTaintKey } from '../../kubernetes/transient-taints.ts';
import { CLUSTER_API_UNINITIALIZED_KEY, UNINITIALIZED_KEY } from '../../kubernetes/well-known-taints.ts';
import { type AllDaemonSets, isAmong, type ReadyDaemonSet } from '../../policy/ready-when.ts';
import { compiledCoverage, type SchedulingNode } from '../../scheduling/coverage.ts';
import { formatObstacle, type Obstacle } from '../../scheduling/obstacle.ts';
import type { KnownDaemonSet } from './daemon-readiness.ts';
import type { StartupTaints } from './startup-requirement.ts';

/** The DaemonSets that `readyWhen.allDaemonSets` names on a node. */
export interface DaemonSetsOnNode {
  /** Those that run there once the transient taints are gone. */
  readonly awaited: readonly ReadyDaemonSet[];
  /** Those that would run there, and are not waited for, with the reason: otherwise the taint could stay for good. */
  readonly leftOut: readonly { readonly daemonSet: ReadyDaemonSet; readonly why: string }[];
}

const INITIALIZERS: ReadonlyMap<string, string> = new Map([
  [UNINITIALIZED_KEY, 'the cloud provider'],
  [CLUSTER_API_UNINITIALIZED_KEY, 'Cluster API'],
]);

/** The components that have not initialized the node. They add labels before that, so it is not known yet which DaemonSets run there. */
export function initializersOf({ taints }: Pick<SchedulingNode, 'taints'>): string[] {
  return taints.flatMap(({ key }) => INITIALIZERS.get(key) ?? []);
}

/**
 * The DaemonSets that select the node by its labels, and tolerate the taints that it keeps. A DaemonSet that does not tolerate each taint of
 * `ensure: UntilReady` on the node is not waited for: two such taints, each of which waits for what the other one keeps off, would stay.
 */
export function daemonSetsOnNode(
  all: AllDaemonSets,
  node: SchedulingNode,
  daemonSets: Iterable<KnownDaemonSet>,
  startup: StartupTaints,
): DaemonSetsOnNode {
  const untilReady = new Set(startup.untilReady.map(taintIdentity));
  const passing = new Set(startup.atRegistration.map(taintIdentity));
  // A taint that the node is about to get keeps off as one that it carries.
  const missing = startup.untilReady.filter((taint) => !node.taints.some((one) => sameTaint(one, taint)));
  const withStartup = { ...node, taints: [...node.taints, ...missing] };
  const passes = (taint: Taint) => passing.has(taintIdentity(taint)) || isTransientTaintKey(taint.key);
  const awaited: ReadyDaemonSet[] = [];
  const leftOut: { readonly daemonSet: ReadyDaemonSet; readonly why: string }[] = [];
  for (const { value } of daemonSets) {
    const { namespace, name } = value;
    if (!isAmong(all, value)) continue;
    const coverage = compiledCoverage(value)(withStartup);
    const obstacles = coverage.runs ? [] : coverage.obstacles;
    const { ofStartup = [], others = [] } = Object.groupBy(obstacles, kindOf);
    if (others.length > 0) continue;
    const daemonSet = { namespace, name };
    if (value.deleting) leftOut.push({ daemonSet, why: 'it is being deleted' });
    else if (ofStartup.length > 0) leftOut.push({ daemonSet, why: ofStartup.map(formatObstacle).join(', ') });
    else awaited.push(daemonSet);
  }
  return { awaited, leftOut };

  function kindOf(obstacle: Obstacle): 'ofStartup' | 'passing' | 'others' {
    // A node is a virtual one only where something else keeps the DaemonSet off.
    if (obstacle.kind === 'virtualNode') return 'passing';
    if (obstacle.kind !== 'taint' && obstacle.kind !== 'unknown') return 'others';
    if (untilReady.has(taintIdentity(obstacle.taint))) return 'ofStartup';
    return passes(obstacle.taint) ? 'passing' : 'others';
  }
}
