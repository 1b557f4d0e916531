import { removedTaints, type Taint, withoutEqualEnds } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { RecordedState } from './node-record.ts';
import { type NodeUpdate, sameLabels } from './node-view.ts';

/**
 * The most taints of one update that are compared with the rules of all policies: of those that it removes, of those that it adds, and of
 * those that the node carries when its labels change. No real node has as many. A request with thousands must not block the replica, nor
 * bypass the policies: taints beyond the limit count as protected.
 */
export const MAX_JUDGED = 128;

/**
 * The most taints of each list, without equal ends, that are compared to find those that an update removes or adds. To compare the tens of
 * thousands that fit into a node takes longer than everything else.
 */
export const MAX_COMPARED = 8_192;

/** What an update changes of a Node, as far as policies read it. A changed value is a removal and an addition. */
export interface NodeChanges {
  readonly removed: readonly Taint[];
  readonly added: readonly Taint[];
  /** Whether something changes: these taints, the labels, or the annotation `allow-removal`. */
  readonly isAny: boolean;
}

/** An update of more taints than are compared, or judged. */
export interface TooManyChanges {
  readonly what: string;
  readonly limit: string;
  /** How many taints it may remove. None of them is judged. */
  readonly mayRemove: number;
  /** How many taints it may add. None of them is judged. */
  readonly mayAdd: number;
}

/** Compares the Node of a request with the stored one. */
export function nodeChanges({ node, oldNode }: Pick<NodeUpdate, 'node' | 'oldNode'>): NodeChanges | TooManyChanges {
  const [before, after] = withoutEqualEnds(oldNode.taints, node.taints);
  if (Math.max(before.length, after.length) > MAX_COMPARED) {
    return {
      what: `${before.length} taints in a row are replaced by ${after.length} in one update`,
      limit: `at most ${MAX_COMPARED} of each are compared`,
      mayRemove: before.length,
      mayAdd: after.length,
    };
  }
  const removed = removedTaints(oldNode.taints, node.taints);
  const added = removedTaints(node.taints, oldNode.taints);
  if (Math.max(removed.length, added.length) > MAX_JUDGED) {
    return {
      what: `${removed.length} taints are removed and ${added.length} added in one update`,
      limit: `at most ${MAX_JUDGED} of each are judged`,
      mayRemove: removed.length,
      mayAdd: added.length,
    };
  }
  const isAny =
    removed.length + added.length > 0 || node.allowRemoval !== oldNode.allowRemoval || !sameLabels(node, oldNode);
  return { removed, added, isAny };
}

/**
 * The field of the policy that restricts the removal of the taint.
 * @param isBeyond whether the taint stands for all taints of a list beyond {@link MAX_JUDGED}: it counts as protected
 */
export function removalRestriction(
  policy: CompiledTaintPolicy,
  taint: Taint,
  { isBeyond, established }: Pick<RecordedState, 'established'> & { readonly isBeyond: boolean },
): string | undefined {
  return isBeyond ? policy.removalRules[0]?.field : policy.removalRestrictedBy(taint, established);
}
