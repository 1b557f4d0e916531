import { formatTaint, type Taint } from '../kubernetes/taint.ts';
import type { SchedulingNode, SchedulingView } from '../scheduling/coverage.ts';
import { groupNodes, type NodeGroup } from './node-groups.ts';
import type { StartupRules } from './startup-rules.ts';

/**
 * A DaemonSet that only taints keep off nodes. There is no gap if a selector or an affinity keeps it off, because it should not run there. There is
 * none on a virtual node, nor if it is unknown whether a taint is tolerated.
 */
export interface Gap<DaemonSet extends SchedulingView, Node extends SchedulingNode> {
  readonly daemonSet: DaemonSet;
  /** The untolerated permanent taints, or the transient ones if there are no others. They are the same on all of the nodes. */
  readonly taints: readonly Taint[];
  /** The transient taints that some of the nodes have besides. */
  readonly transient: readonly Taint[];
  readonly nodes: readonly Node[];
  /** True if the taints are transient: no action is needed. */
  readonly isTransient: boolean;
}

/**
 * The gaps of each DaemonSet, in order. Nodes that differ only in transient taints besides permanent ones are one gap.
 * @param groups of these DaemonSets
 */
export function findGaps<DaemonSet extends SchedulingView, Node extends SchedulingNode>(
  daemonSets: readonly DaemonSet[],
  groups: readonly NodeGroup<Node>[],
): Gap<DaemonSet, Node>[] {
  return daemonSets.flatMap((daemonSet) => {
    const gaps = new Map<
      string,
      Pick<Gap<DaemonSet, Node>, 'taints' | 'isTransient'> & { nodes: Node[]; rest: Taint[] }
    >();
    for (const { nodes, coverageOf } of groups) {
      const { taintsAlone } = coverageOf(daemonSet);
      if (!taintsAlone) continue;
      const isTransient = taintsAlone.permanent.length === 0;
      const [taints, rest] = isTransient ? [taintsAlone.transient, []] : [taintsAlone.permanent, taintsAlone.transient];
      const found = { taints, isTransient, nodes: [...nodes], rest: [...rest] };
      const likeness = JSON.stringify([isTransient, ...found.taints.map(formatTaint).sort()]);
      const gap = gaps.get(likeness);
      if (gap) {
        gap.nodes.push(...nodes);
        gap.rest.push(...rest);
      } else gaps.set(likeness, found);
    }
    return [...gaps.values()].map(({ rest, ...gap }) => {
      const transient = [...new Map(rest.map((taint) => [formatTaint(taint), taint])).values()];
      return { daemonSet, ...gap, transient };
    });
  });
}

/** {@link findGaps} for callers that have no groups of nodes. */
export function gapsOf<DaemonSet extends SchedulingView, Node extends SchedulingNode>({
  daemonSets,
  nodes,
  startup,
}: {
  readonly daemonSets: readonly DaemonSet[];
  readonly nodes: readonly Node[];
  readonly startup?: StartupRules | undefined;
}): Gap<DaemonSet, Node>[] {
  return findGaps(daemonSets, groupNodes(daemonSets, nodes, startup));
}
