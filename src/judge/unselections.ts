import type { Taint } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { isRemovalAllowed, parseAllowedRemovals } from './allow-removal.ts';
import { MAX_JUDGED, removalRestriction } from './node-changes.ts';
import type { NodeUpdate } from './node-view.ts';
import { isEnforcing, type Protection } from './rulings.ts';

/** A protected taint of a node that a policy no longer selects after the update, by the labels. */
export interface Unselection extends Protection {
  readonly taint: Taint;
  /** Whether the policy restricts the unselection of nodes with the taint, and no annotation allowed its removal before the request. */
  readonly isRefused: boolean;
}

/** Whether the request must not do it. */
export function isForbiddenUnselection(unselection: Unselection): boolean {
  return unselection.isRefused && isEnforcing(unselection);
}

/**
 * The protected taints whose protection the update ends by a change of labels. Policies that exempt the requester do not count. The update uses up
 * no entry of the annotation `allow-removal`, because the node still carries the taint.
 */
export function unselections(
  { requester, node, oldNode }: NodeUpdate,
  policies: readonly CompiledTaintPolicy[],
): Unselection[] {
  const unselecting = policies.filter(
    (policy) => policy.selectsNode(oldNode.labels) && !policy.selectsNode(node.labels) && !policy.exempts(requester),
  );
  const allowed = parseAllowedRemovals(oldNode.allowRemoval);
  return unselecting.flatMap((policy) =>
    node.taints.slice(0, MAX_JUDGED + 1).flatMap((taint, index) => {
      // One stands for all that follow, and counts as protected.
      const isBeyond = index === MAX_JUDGED;
      const restricting = isBeyond ? policy.unselectionRules[0]?.field : policy.unselectionRestrictedBy(taint);
      const field = restricting ?? removalRestriction(policy, taint, { isBeyond, established: oldNode.established });
      if (field === undefined) return [];
      const isAllowed = !isBeyond && policy.allowsRemovalByAnnotation && isRemovalAllowed(allowed, taint);
      const isRefused = restricting !== undefined && !isAllowed;
      return [{ policy, field, taint, isRefused }];
    }),
  );
}
