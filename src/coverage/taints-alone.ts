import type { Taint } from '../kubernetes/taint.ts';
import { type Coverage, compileCoverage, type SchedulingNode, type SchedulingView } from '../scheduling/coverage.ts';
import { isTransientFor, type NamedDaemonSet, type StartupRules } from './startup-rules.ts';

/** The taints that keep a DaemonSet off a node, if nothing else does. See {@link isTransientFor}. */
export interface TaintsAlone {
  /** Without one, the DaemonSet runs there once the others are removed. */
  readonly permanent: readonly Taint[];
  readonly transient: readonly Taint[];
}

/** The coverage of a DaemonSet on a node, with its {@link taintsAlone}. */
export interface NodeCoverage {
  readonly coverage: Coverage;
  readonly taintsAlone: TaintsAlone | undefined;
}

export function compileNodeCoverage(
  daemonSet: SchedulingView,
  startup: StartupRules,
): (node: SchedulingNode) => NodeCoverage {
  const coverageOn = compileCoverage(daemonSet);
  return (node) => {
    const coverage = coverageOn(node);
    return { coverage, taintsAlone: taintsAlone(coverage, daemonSet, node, startup) };
  };
}

/**
 * @param coverage on the node
 * @param daemonSet undefined for other pods, for which no startup taint waits
 * @returns undefined if it runs there, or if a selector or an affinity keeps it off as well
 */
export function taintsAlone(
  coverage: Coverage,
  daemonSet: NamedDaemonSet | undefined,
  node: SchedulingNode,
  startup: StartupRules,
): TaintsAlone | undefined {
  if (coverage.runs) return undefined;
  const taints = coverage.obstacles.flatMap((obstacle) => (obstacle.kind === 'taint' ? [obstacle.taint] : []));
  if (taints.length < coverage.obstacles.length) return undefined;
  const { permanent = [], transient = [] } = Object.groupBy(taints, (taint) =>
    isTransientFor(daemonSet, node, taint, startup) ? 'transient' : 'permanent',
  );
  return { permanent, transient };
}
