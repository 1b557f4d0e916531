import type { Taint } from '../../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../../policy/policy-set.ts';
import { isRequiredTaint } from '../declared-taints.ts';
import type { NodeView } from '../node-view.ts';

/** The taints on a node that the policy removes once the node is ready. */
export function waitingTaints(
  policy: CompiledTaintPolicy,
  { labels, taints }: Pick<NodeView, 'labels' | 'taints'>,
): Taint[] {
  if (policy.declared === 'Audit' || policy.untilReady.length === 0 || !policy.selectsNode(labels)) return [];
  return taints.filter((carried) => policy.untilReady.some(({ value }) => isRequiredTaint(carried, value)));
}
