import { formatTaint, type Taint } from '../taint.ts';
import { isTransientTaintKey } from '../transient-taints.ts';
import type { SchedulingNode, SchedulingView } from './coverage.ts';
import type { NodeGroup } from './groups.ts';

/**
 * A DaemonSet that taints, and nothing else, keep off nodes. Where a selector or an affinity does, the DaemonSet is not meant
 * to run, and there is no gap.
 */
export interface Gap<DaemonSet extends SchedulingView, Node extends SchedulingNode> {
  readonly daemonSet: DaemonSet;
  /** Those that are not tolerated, and on all of the nodes the same. */
  readonly taints: readonly Taint[];
  readonly nodes: readonly Node[];
  /** True where the taints come and go by themselves: nobody has to do anything about those. */
  readonly passing: boolean;
}

/**
 * The gaps of each DaemonSet, in their order. Where taints that stay and taints that pass are in the way, only those that
 * stay are named.
 * @param groups of these DaemonSets
 */
export function findGaps<DaemonSet extends SchedulingView, Node extends SchedulingNode>(
  daemonSets: readonly DaemonSet[],
  groups: readonly NodeGroup<Node>[],
): Gap<DaemonSet, Node>[] {
  return daemonSets.flatMap((daemonSet, index) => {
    const gaps = new Map<string, { taints: readonly Taint[]; passing: boolean; nodes: Node[] }>();
    for (const { nodes, coverages } of groups) {
      const coverage = coverages[index];
      if (!coverage || coverage.runs) continue;
      const taints = coverage.obstacles.flatMap((obstacle) => (obstacle.kind === 'taint' ? obstacle.taint : []));
      if (taints.length < coverage.obstacles.length) continue;
      const lasting = taints.filter(({ key }) => !isTransientTaintKey(key));
      const found = { taints: lasting.length > 0 ? lasting : taints, passing: lasting.length === 0, nodes: [...nodes] };
      const likeness = JSON.stringify(found.taints.map(formatTaint).sort());
      const gap = gaps.get(likeness);
      if (gap) gap.nodes.push(...nodes);
      else gaps.set(likeness, found);
    }
    return [...gaps.values()].map((gap) => ({ daemonSet, ...gap }));
  });
}
