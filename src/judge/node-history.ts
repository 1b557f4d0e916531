import { equalTaints, identity, removedTaints, sameTaint, type Taint } from '../kubernetes/taint.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import { isProtectedBy, selectingPolicies } from '../policy/policy-index.ts';
import { type CompiledTaintPolicy, ONCE_ESTABLISHED } from '../policy/policy-set.ts';
import { isRemovalNoted, parseAllowedRemovals } from './allow-removal.ts';
import { MAX_JUDGED } from './node-changes.ts';
import { type NodeView, sameLabels } from './node-view.ts';
import { NO_TIMES, type TaintTimes, timeOf } from './taint-times.ts';
import type { AcceptedTaints } from './unseen-additions.ts';

/** Taints of one node whose time is measured, from the start of its list. */
const MAX_TIMED = 256;
/** Taints that one node is known to have lost. */
const MAX_LOST = 64;
/** Taints that one node is known to have lost with a notice: twice as many as one update can remove so. Users can write notices without end. */
const MAX_NOTED = 2 * MAX_JUDGED;

/** A taint that was restored this often within the window, and is missing again, is in conflict with another writer. */
export const CONFLICT = { limit: 3, windowMs: 600_000 } as const;

/** A taint that another writer removes repeatedly. */
export interface Conflict {
  readonly taint: Taint;
  /** The names of the policies that miss it. */
  readonly policies: readonly string[];
}

/**
 * What the leader has seen of a Node and no object says. A new leader begins with none: then patterns protect later, and conflicts and
 * additions that the webhook did not see are found later. All times are in milliseconds of the monotonic clock.
 */
export interface NodeHistory {
  /** Of the Node: a later Node of that name has a history of its own. */
  readonly uid: string;
  /** Since when the Node carries each taint while it is Ready. */
  readonly carriedSince: TaintTimes;
  /**
   * Taints that the Node lost in an update that left a notice of it in the annotation `allow-removal`, as mutation does for exempt users. Other
   * users can write notices as well, also beforehand, but a request of theirs that removes the taint is refused. After a gap of the watch, what
   * one update did is not known: such removals count as losses.
   */
  readonly removedWithNotice: readonly Taint[];
  /** Since when the Node has had its present labels. */
  readonly labelsSince: number;
  /** Taints that the Node lost and has not got back. They are restored, not added. */
  readonly lost: readonly Taint[];
  /** Since when policies miss recorded taints. */
  readonly missingSince: TaintTimes;
  /** The annotation `allow-removal`, and since when the leader has seen it with this value. */
  readonly allowRemoval: { readonly text: string; readonly since: number } | undefined;
  /** When the leader restored or removed taints, with any value: several times for some. In the order of time. */
  readonly repairs: TaintTimes;
  /** By the identity of a taint: conflicts with writers that remove it. One ends once the leader has restored nothing for the whole window. */
  readonly conflicts: ReadonlyMap<string, Conflict>;
  /** Undefined before the first check. */
  readonly accepted: AcceptedTaints | undefined;
}

/** A Node as the watch shows it. */
export interface WatchedNode extends NodeView {
  readonly uid: string;
  /** Its condition Ready is True, and it is not being deleted. */
  readonly ready: boolean;
  /** When its allow-removal annotation was last written, by the API server's clock in milliseconds, where that is known. */
  readonly announcedAt?: number | undefined;
}

/** One event of the watch. */
export interface NodeChange {
  readonly node: WatchedNode;
  /** The same Node before. Undefined where the watch shows it for the first time. */
  readonly previous: NodeView | undefined;
  /** A list showed the change, and not an event: single updates were not seen. */
  readonly isListed: boolean;
}

const NO_CONFLICTS: NodeHistory['conflicts'] = new Map();
const NO_TAINTS: readonly Taint[] = [];

/** The history of a Node that the leader sees for the first time. */
export function newHistory(node: WatchedNode, now: number): NodeHistory {
  return {
    uid: node.uid,
    carriedSince: timesOf(node, NO_TIMES, now),
    labelsSince: now,
    removedWithNotice: NO_TAINTS,
    lost: NO_TAINTS,
    missingSince: NO_TIMES,
    allowRemoval: annotationOf(node, undefined, now),
    repairs: NO_TIMES,
    conflicts: NO_CONFLICTS,
    accepted: undefined,
  };
}

/**
 * The history after one more event. Every event counts, because later ones hide what one update did.
 * @param before of the Node of that name, if there is one
 */
export function historyAfter(
  before: NodeHistory | undefined,
  { node, previous, isListed }: NodeChange,
  policies: readonly CompiledTaintPolicy[],
  now: number,
): NodeHistory {
  if (before === undefined || before.uid !== node.uid) return newHistory(node, now);
  return {
    ...before,
    carriedSince: timesOf(node, before.carriedSince, now),
    labelsSince: previous !== undefined && sameLabels(previous, node) ? before.labelsSince : now,
    removedWithNotice:
      previous === undefined || node.allowRemoval === undefined
        ? NO_TAINTS
        : [
            ...stillRemoved(before.removedWithNotice, previous, node),
            ...(isListed ? [] : removedWithNotice(previous, node, policies)),
          ].slice(-MAX_NOTED),
    lost: previous === undefined ? NO_TAINTS : lostAfter(before.lost, previous, node),
    allowRemoval: annotationOf(node, before.allowRemoval, now),
  };
}

/** The history after the leader has restored, or removed, these taints. */
export function historyAfterRepair(history: NodeHistory, taints: readonly Taint[], now: number): NodeHistory {
  if (taints.length === 0) return history;
  const recent = history.repairs.filter(({ at }) => isRecent(at, now));
  const repaired = new Map(taints.map((taint) => [identity(taint), { taint, at: now }]));
  return { ...history, repairs: [...recent, ...repaired.values()] };
}

/** The history of a Node whose record was deleted: patterns protect its taints in ten minutes. */
export function historyWithoutTimes(history: NodeHistory, node: WatchedNode, now: number): NodeHistory {
  return { ...history, carriedSince: timesOf(node, NO_TIMES, now) };
}

/** For how long the Node has carried the taint while it was Ready. Undefined for a taint that it does not carry, or while it is not Ready. */
export function carriedMs({ carriedSince }: NodeHistory, taint: Taint, now: number): number | undefined {
  const since = timeOf(carriedSince, taint);
  return since === undefined ? undefined : now - since;
}

/** Whether one update removed the taint and left the notice of it. */
export function wasRemovedWithNotice({ removedWithNotice }: NodeHistory, taint: Taint): boolean {
  return removedWithNotice.some((one) => equalTaints(one, taint));
}

/** Whether another writer removes, or adds, the taint repeatedly. */
export function isInConflict(history: NodeHistory, taint: Taint, now: number): boolean {
  return recentRepairs(history, taint, now).length >= CONFLICT.limit;
}

/**
 * The conflicts of a Node as they are now.
 * @param losses of taints that the leader leaves to the other writer
 */
export function conflictsNow(
  history: NodeHistory,
  losses: readonly { readonly taint: Taint; readonly policy: { readonly name: string } }[],
  now: number,
): NodeHistory['conflicts'] {
  const known = [...history.conflicts].filter(([, { taint }]) => recentRepairs(history, taint, now).length > 0);
  const conflicts = new Map(known);
  for (const { taint, policy } of losses) {
    const policies = conflicts.get(identity(taint))?.policies ?? [];
    if (!policies.includes(policy.name))
      conflicts.set(identity(taint), { taint, policies: [...policies, policy.name] });
  }
  // Nearly all Nodes have none, and each would keep a map of its own.
  return conflicts.size === 0 ? NO_CONFLICTS : conflicts;
}

/** In how many milliseconds a taint in conflict may be restored again, or its conflict ends. Undefined where nothing was restored lately. */
export function conflictChangesInMs(history: NodeHistory, taint: Taint, now: number): number | undefined {
  const [first] = recentRepairs(history, taint, now);
  return first === undefined ? undefined : first + CONFLICT.windowMs - now;
}

/**
 * For how long the annotation `allow-removal` has had its value: by the time that the API server noted, and at least for as long as this leader has
 * seen it. Users who may write a node can write another time there, but cannot make the leader forget.
 *
 * @param times `now` of the monotonic clock, `apiTime` of the API server's, in milliseconds
 */
export function allowRemovalAgeMs(
  { allowRemoval }: NodeHistory,
  { announcedAt }: WatchedNode,
  { now, apiTime }: { readonly now: number; readonly apiTime: number },
): number {
  if (allowRemoval === undefined) return 0;
  return Math.max(now - allowRemoval.since, announcedAt === undefined ? 0 : apiTime - announcedAt);
}

function timesOf({ ready, taints }: WatchedNode, before: TaintTimes, now: number): TaintTimes {
  const timed = ready ? taints.filter(({ key }) => !isTransientTaintKey(key)).slice(0, MAX_TIMED) : [];
  return timed.map((taint) => ({ taint, at: timeOf(before, taint) ?? now }));
}

function annotationOf({ allowRemoval: text }: WatchedNode, before: NodeHistory['allowRemoval'], now: number) {
  if (text === undefined) return undefined;
  return before?.text === text ? before : { text, since: now };
}

function removedWithNotice(previous: NodeView, node: NodeView, policies: readonly CompiledTaintPolicy[]): Taint[] {
  const removed = removedTaints(previous.taints, node.taints);
  const allowed = parseAllowedRemovals(node.allowRemoval);
  const selecting = selectingPolicies(policies, previous.labels);
  // While policies only audit, every user can make such a request.
  return removed.filter((taint) => isRemovalNoted(allowed, taint) && isProtectedBy(selecting, taint, ONCE_ESTABLISHED));
}

/** Without taints that came back, with any value: they may be lost later. */
function stillRemoved(before: readonly Taint[], previous: NodeView, node: NodeView): readonly Taint[] {
  const added = removedTaints(node.taints, previous.taints);
  return before.filter((taint) => !added.some((one) => sameTaint(one, taint)));
}

function lostAfter(before: readonly Taint[], previous: NodeView, { taints }: NodeView): readonly Taint[] {
  if (previous.taints === taints) return before;
  const lost = removedTaints([...before, ...previous.taints], taints).filter(({ key }) => !isTransientTaintKey(key));
  return lost.slice(-MAX_LOST);
}

function recentRepairs({ repairs }: NodeHistory, taint: Taint, now: number): readonly number[] {
  return repairs.flatMap((one) => (sameTaint(one.taint, taint) && isRecent(one.at, now) ? one.at : []));
}

function isRecent(time: number, now: number): boolean {
  return now - time < CONFLICT.windowMs;
}
