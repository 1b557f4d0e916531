import { formatTaint, type Taint } from '../kubernetes/taint.ts';
import type { SchedulingNode, SchedulingView } from '../scheduling/coverage.ts';
import { groupNodes, type NodeGroup } from './node-groups.ts';
import { NO_POLICY_WAITS, type PoliciesWaitingFor, passesBy } from './startup-deadlock.ts';

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
  readonly passing: boolean;
}

/**
 * The gaps of each DaemonSet, in order. Nodes that differ only in transient taints besides permanent ones are one gap.
 * @param groups of these DaemonSets
 * @param waits by the policies, if they are known
 */
export function findGaps<DaemonSet extends SchedulingView, Node extends SchedulingNode>(
  daemonSets: readonly DaemonSet[],
  groups: readonly NodeGroup<Node>[],
  waits = NO_POLICY_WAITS,
): Gap<DaemonSet, Node>[] {
  return daemonSets.flatMap((daemonSet, index) => {
    const gaps = new Map<string, Pick<Gap<DaemonSet, Node>, 'taints' | 'passing'> & { nodes: Node[]; rest: Taint[] }>();
    for (const { nodes, coverages } of groups) {
      const coverage = coverages[index];
      if (!coverage || coverage.runs) continue;
      const taints = coverage.obstacles.flatMap((obstacle) => (obstacle.kind === 'taint' ? obstacle.taint : []));
      if (taints.length < coverage.obstacles.length) continue;
      const lasting = taints.filter((taint) => !passesBy(daemonSet, taint, waits));
      const passing = lasting.length === 0;
      const rest = passing ? [] : taints.filter((taint) => passesBy(daemonSet, taint, waits));
      const found = { taints: passing ? taints : lasting, passing, nodes: [...nodes], rest };
      const likeness = JSON.stringify(found.taints.map(formatTaint).sort());
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
  waits,
}: {
  readonly daemonSets: readonly DaemonSet[];
  readonly nodes: readonly Node[];
  readonly waits?: PoliciesWaitingFor | undefined;
}): Gap<DaemonSet, Node>[] {
  return findGaps(daemonSets, groupNodes(daemonSets, nodes), waits);
}
