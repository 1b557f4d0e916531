import { identity, type Taint, valuesOf } from '../kubernetes/taint.ts';
import { type CompiledTaintPolicy, ONCE_ESTABLISHED } from '../policy/policy-set.ts';
import { isRemovalNamed, isRequiredRemovalNamed, mayBePermitted, parseAllowedRemovals } from './allow-removal.ts';
import { isRequiredTaint, missingRequired } from './declared-taints.ts';
import { isRemoved, lostTaints } from './node-record.ts';
import type { NodeView, NodeWithRecord } from './node-view.ts';

/**
 * Whether the node is to carry a taint that it lacks. The annotation counts besides the record, which is written a moment after a removal:
 * mutation has written the entry in the request that removed the taint.
 */
export function expectedAdditions(
  oldNode: NodeWithRecord,
  { labels }: NodeView,
  policies: readonly CompiledTaintPolicy[],
): (taint: Taint) => boolean {
  const allowed = parseAllowedRemovals(oldNode.allowRemoval);
  const missing = Map.groupBy(
    missingRequired({ labels, taints: oldNode.taints }, policies).filter(
      (one) =>
        !(mayBePermitted(one.policy) && (isRemoved(oldNode.recorded, one) || isRequiredRemovalNamed(allowed, one))),
    ),
    ({ taint }) => identity(taint),
  );
  const lost = valuesOf(
    lostTaints(oldNode.recorded, oldNode.taints).filter(
      (taint) =>
        !isRemovalNamed(allowed, taint) ||
        !policies.some(
          (policy) => policy.removalRestrictedBy(taint, ONCE_ESTABLISHED) !== undefined && mayBePermitted(policy),
        ),
    ),
  );
  return (taint) =>
    lost.get(identity(taint)) === (taint.value ?? '') ||
    (missing.get(identity(taint)) ?? []).some((one) => isRequiredTaint(taint, one));
}
