import { type Taint, taintsOnlyIn, valuesAmong, withoutEqualEnds } from '../../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { isReplaced, requiredTaints } from '../declared-taints.ts';
import type { NodeUpdate } from './node-request.ts';

/**
 * The most removed taints of one update that are compared with the rules of all policies. No real node has as many. A request with thousands must
 * not block the replica, nor bypass the policies: an update beyond the limit counts as one that removes protected taints.
 */
export const MAX_JUDGED = 128;

/**
 * The most taints of the old and of the new list that are compared, without their common beginning and end. Comparing the tens of thousands that
 * fit into a Node would take longer than everything else.
 */
export const MAX_COMPARED = 8_192;

/** The taints that an update of a Node removes and adds. A changed value is a removal and an addition. */
export interface NodeChanges {
  readonly kind: 'Compared';
  readonly removed: readonly Taint[];
  readonly added: readonly Taint[];
}

/** An update that changes more taints than are compared or judged. */
export interface TooManyChanges {
  readonly kind: 'TooMany';
  readonly what: string;
  readonly limit: string;
  /** How many taints it may remove. None of them is judged. */
  readonly mayRemove: number;
}

/** Compares the Node of a request with the stored one. */
export function nodeChanges({ node, oldNode }: Pick<NodeUpdate, 'node' | 'oldNode'>): NodeChanges | TooManyChanges {
  const [before, after] = withoutEqualEnds(oldNode.taints, node.taints);
  if (Math.max(before.length, after.length) > MAX_COMPARED) {
    return {
      kind: 'TooMany',
      what: `${before.length} taints in a row are replaced by ${after.length} in one update`,
      limit: `at most ${MAX_COMPARED} of each are compared`,
      mayRemove: before.length,
    };
  }
  const removed = taintsOnlyIn(oldNode.taints, node.taints);
  if (removed.length > MAX_JUDGED) {
    return {
      kind: 'TooMany',
      what: `${removed.length} taints are removed in one update`,
      limit: `at most ${MAX_JUDGED} are judged`,
      mayRemove: removed.length,
    };
  }
  return { kind: 'Compared', removed, added: taintsOnlyIn(node.taints, oldNode.taints) };
}

/**
 * The removed taints without those whose value changes to the one that a policy requires: that always passes.
 * @param selecting the policies of every mode that select the node by its labels before or after the update
 */
export function judgedRemovals(
  { node }: Pick<NodeUpdate, 'node'>,
  removed: readonly Taint[],
  selecting: readonly CompiledTaintPolicy[],
): readonly Taint[] {
  const required = requiredTaints(node.labels, selecting);
  const valueByTaint = valuesAmong(node.taints, removed);
  return removed.filter((taint) => !isReplaced(taint, valueByTaint, required));
}
