import { equalTaints, sameTaint, type Taint, taintIdentity } from '../../kubernetes/taint.ts';
import { isRemovalAllowed, parseAllowedRemovals } from '../allow-removal.ts';
import type { NodeView } from '../node-view.ts';
import type { TaintTime } from './taint-times.ts';

/**
 * A taint is in conflict if another writer has undone this many writes of the leader about it within the window. The leader also records at most this
 * many reboots of a Node within the window.
 */
export const UNDO_BUDGET = { limit: 3, windowMs: 600_000 } as const;

/** What the leader wrote about a taint. `allow`: an entry of the annotation `allow-removal`, which permits the removal. */
export interface TaintChange extends TaintTime {
  readonly change: 'set' | 'remove' | 'allow';
}

/** A taint that another writer removes repeatedly; or sets repeatedly, if it is a startup taint that the leader removes. */
export interface Conflict {
  readonly taint: Taint;
  /** The names of the policies that declare it. */
  readonly policyNames: readonly string[];
}

/** What the leader knows of its own changes of a Node. All times are in milliseconds of the monotonic clock. */
export interface OwnChanges {
  /**
   * When the leader set a missing taint, with any value, removed a startup taint, or permitted that: several times for some. In the order of time.
   * All but the last one of each taint were undone by another writer.
   */
  readonly changes: readonly TaintChange[];
  /** By the identity of a taint. A conflict ends once the leader has written nothing about the taint for the whole window. */
  readonly conflicts: ReadonlyMap<string, Conflict>;
}

export const NO_CONFLICTS: OwnChanges['conflicts'] = new Map();

/** Whether the taint of a Node is as the leader last wrote it: no other writer has undone that. False without such a write. */
export function isAsWritten(
  own: Pick<OwnChanges, 'changes'>,
  node: Pick<NodeView, 'taints' | 'allowRemoval'>,
  taint: Taint,
  now: number,
): boolean {
  const last = lastChange(own, taint, now);
  if (last === undefined) return false;
  const carried = node.taints.find((one) => sameTaint(one, taint));
  if (last.change === 'remove') return carried === undefined;
  if (carried === undefined || !equalTaints(carried, last.taint)) return false;
  return last.change === 'set' || isRemovalAllowed(parseAllowedRemovals(node.allowRemoval), last.taint);
}

/** The taints for which this leader has written an entry of the annotation `allow-removal`, and nothing since. */
export function allowedByLeader(own: Pick<OwnChanges, 'changes'>, now: number): readonly Taint[] {
  return own.changes.flatMap((one) =>
    one.change === 'allow' && one === lastChange(own, one.taint, now) ? one.taint : [],
  );
}

/** Whether another writer undoes the leader's changes of the taint repeatedly, if the taint is not as the leader last wrote it. */
export function isInConflict(own: Pick<OwnChanges, 'changes'>, taint: Taint, now: number): boolean {
  return recentChanges(own, taint, now).length >= UNDO_BUDGET.limit;
}

/**
 * The conflicts of a Node as they are now.
 * @param inConflict what the leader leaves to the other writer
 */
export function conflictsNow(
  own: OwnChanges,
  inConflict: readonly { readonly taint: Taint; readonly policy: string }[],
  now: number,
): OwnChanges['conflicts'] {
  const known = [...own.conflicts].filter(([, { taint }]) => recentChanges(own, taint, now).length > 0);
  const conflicts = new Map(known);
  for (const { taint, policy } of inConflict) {
    const policyNames = conflicts.get(taintIdentity(taint))?.policyNames ?? [];
    if (!policyNames.includes(policy))
      conflicts.set(taintIdentity(taint), { taint, policyNames: [...policyNames, policy] });
  }
  // Nearly all Nodes have none, and each would keep a map of its own.
  return conflicts.size === 0 ? NO_CONFLICTS : conflicts;
}

/** In how many milliseconds a taint in conflict may be changed again, or its conflict ends. Undefined where nothing was changed lately. */
export function conflictChangesInMs(own: Pick<OwnChanges, 'changes'>, taint: Taint, now: number): number | undefined {
  const [first] = recentChanges(own, taint, now);
  return first === undefined ? undefined : first.at + UNDO_BUDGET.windowMs - now;
}

/** The leader's last change of the taint within the window. */
export function lastChange(own: Pick<OwnChanges, 'changes'>, taint: Taint, now: number): TaintChange | undefined {
  return recentChanges(own, taint, now).at(-1);
}

function recentChanges({ changes }: Pick<OwnChanges, 'changes'>, taint: Taint, now: number): readonly TaintChange[] {
  return changes.filter((one) => sameTaint(one.taint, taint) && isRecent(one.at, now));
}

/** Whether the time lies within the window of {@link UNDO_BUDGET}. */
export function isRecent(time: number, now: number): boolean {
  return now - time < UNDO_BUDGET.windowMs;
}
