import { sameTaint } from '../../kubernetes/taint.ts';
import type { UntilReadyTaint } from '../../policy/compiled-taint-policy.ts';
import type { StoredNode } from '../node-view.ts';

/** The part of a Node that {@link isPastStartup} reads. */
export type AgedNode = Pick<StoredNode, 'taints' | 'createdAt'>;

/**
 * Whether the node is older than the progress deadline of the rule, and does not carry the taint. Labels, conditions and resources of other nodes may be
 * missing only because their agents have not set them yet.
 */
export function isPastStartup({ taints, createdAt }: AgedNode, rule: UntilReadyTaint, now: Date): boolean {
  const isOld = createdAt === undefined || now.getTime() - createdAt > rule.progressDeadlineMs;
  return isOld && !taints.some((taint) => sameTaint(taint, rule.taint));
}
