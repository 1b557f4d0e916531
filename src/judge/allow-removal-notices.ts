import { identity, type Taint, valuesOf } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { type AllowedRemoval, namesAny, parseAllowedRemovals, rewriteAllowRemoval } from './allow-removal.ts';
import { missingRequired } from './declared-taints.ts';
import { isRemoved, lostTaints } from './node-record.ts';
import type { NodeUpdate, NodeWithRecord } from './node-view.ts';

/** The changes of taints that remain after mutation. */
interface PermittedChanges {
  /** The taints that it removes with permission. */
  readonly removed: readonly Taint[];
  readonly added: readonly Taint[];
  /** Whether the request adds taints, also if mutation removes them. */
  readonly isAdding: boolean;
}

/**
 * The annotation `allow-removal` after the update, with a notice for each taint that the request removes with permission. Without the notice, the
 * leader would restore the taint. The update uses up the announcement. A notice ends when its taint is added. A request that adds taints
 * deletes no notice that the record does not have yet, because a writer with an old copy of the whole node must not undo the removal.
 */
export function allowRemovalAfter(
  { node, oldNode }: NodeUpdate,
  { removed, added, isAdding }: PermittedChanges,
  policies: readonly CompiledTaintPolicy[],
): string | undefined {
  const allowed = parseAllowedRemovals(node.allowRemoval);
  const removedValues = valuesOf(removed);
  const addedValues = valuesOf(added);
  const isUsed = (entry: AllowedRemoval) => namesAny(entry, entry.isNotice ? addedValues : removedValues);
  const there = new Set(allowed.entries.map(({ text }) => text));
  const kept = (isAdding ? pendingNotices(oldNode, policies) : []).filter(
    (entry) => !there.has(entry.text) && !isUsed(entry),
  );
  if (removed.length + kept.length === 0 && !allowed.entries.some(isUsed)) return node.allowRemoval;
  return rewriteAllowRemoval(allowed, isUsed, { kept, removed });
}

/** The notices on the node that its record does not have yet. */
function pendingNotices(node: NodeWithRecord, policies: readonly CompiledTaintPolicy[]): AllowedRemoval[] {
  const { taints, allowRemoval, recorded } = node;
  const { entries } = parseAllowedRemovals(allowRemoval);
  if (entries.length === 0) return [];
  const lost = valuesOf(lostTaints(recorded, taints));
  const missing = valuesOf(
    missingRequired(node, policies)
      .filter((one) => !isRemoved(recorded, one))
      .map(({ taint }) => taint),
  );
  return entries.filter(
    (entry) =>
      entry.isNotice && entry.taint !== undefined && (namesAny(entry, lost) || missing.has(identity(entry.taint))),
  );
}
