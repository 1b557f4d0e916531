import { equalTaints, sameTaint, type Taint, taintIdentity } from '../../kubernetes/taint.ts';
import { isRemovalAllowed, parseAllowedRemovals } from '../allow-removal.ts';
import type { NodeView, StoredNode } from '../node-view.ts';
import type { StartupRequirement } from '../startup/startup-requirement.ts';
import type { StartupStep, TrackedTaint } from '../startup/startup-step.ts';
import { NO_TIMES, type TaintTime, type TaintTimes } from './taint-times.ts';

/**
 * A taint is in conflict if another writer has undone this many writes of the leader about it within the window. The leader also records at most this
 * many reboots of a Node within the window.
 */
export const UNDO_BUDGET = { limit: 3, windowMs: 600_000 } as const;

/** A taint that another writer removes repeatedly; or sets repeatedly, if it is a startup taint that the leader removes. */
export interface Conflict {
  readonly taint: Taint;
  /** The names of the policies that declare it. */
  readonly policyNames: readonly string[];
}

/** What the leader wrote about a taint. `allow`: an entry of the annotation `allow-removal`, which permits the removal. */
export interface TaintChange extends TaintTime {
  readonly change: 'set' | 'remove' | 'allow';
}

/** A change that a step writes. */
export interface WrittenChange extends Omit<TaintChange, 'at'> {
  /** The taint was as the leader had written it, see {@link isAsWritten}: the leader writes because something else has changed. */
  readonly wasAsWritten: boolean;
}

/**
 * What the leader knows of a Node and no object says. A new leader begins with none, and losing it is harmless: a conflict is found again after three
 * changes, an entry stays for another hour or until a user deletes it, a startup taint of a deleted policy stays until a user removes it, and one that was not
 * stored after a reboot is not sent once more. All times are in milliseconds of the monotonic clock.
 */
export interface NodeMemory {
  /** Of the Node: a later Node of that name has a memory of its own. */
  readonly uid: string;
  /**
   * When the leader set a missing taint, with any value, removed a startup taint, or permitted that: several times for some. In the order of time.
   * All but the last one of each taint were undone by another writer.
   */
  readonly changes: readonly TaintChange[];
  /** By the identity of a taint. A conflict ends once the leader has written nothing about the taint for the whole window. */
  readonly conflicts: ReadonlyMap<string, Conflict>;
  /** The taints that the Node carries together with their entry of the annotation `allow-removal`, and since when. */
  readonly carriedWithEntry: TaintTimes;
  /** When the leader last deleted entries. */
  readonly entriesEndedAt: number | undefined;
  /** When the leader set startup taints again after a reboot. In the order of time. */
  readonly reboots: readonly number[];
  /** The startup taints that the leader has seen on the Node, by a policy. */
  readonly tracked: readonly TrackedTaint[];
  /** Undefined for none. */
  readonly unstored: UnstoredTaints | undefined;
}

/** The startup taints that the leader set again after a reboot, and that the API server did not store. The object looks as if a user had removed them. */
export interface UnstoredTaints {
  readonly bootId: string | undefined;
  readonly taints: readonly Taint[];
}

const NO_CONFLICTS: NodeMemory['conflicts'] = new Map();
const NO_CHANGES: NodeMemory['changes'] = [];
const NO_REBOOTS: NodeMemory['reboots'] = [];

export function newMemory(uid: string): NodeMemory {
  return {
    uid,
    changes: NO_CHANGES,
    conflicts: NO_CONFLICTS,
    carriedWithEntry: NO_TIMES,
    entriesEndedAt: undefined,
    reboots: NO_REBOOTS,
    tracked: [],
    unstored: undefined,
  };
}

/** Whether it says nothing, and need not be kept. */
export function isBlank(memory: NodeMemory): boolean {
  const { changes, conflicts, carriedWithEntry, entriesEndedAt, reboots, tracked, unstored } = memory;
  const sizes = [changes.length, conflicts.size, carriedWithEntry.length, reboots.length, tracked.length];
  return sizes.every((size) => size === 0) && entriesEndedAt === undefined && unstored === undefined;
}

/** The parts of a step that the memory keeps. */
export interface WrittenStep {
  readonly startup: Pick<StartupStep, 'boot' | 'toSetAgain' | 'waiting'>;
  /** The taints whose entries of the annotation `allow-removal` are deleted, because the node has carried both for too long, with the value of the entry. */
  readonly entriesEnded: readonly Taint[];
  /** The taints whose entries are deleted because the leader wrote them, and does not remove the taints by them any more. */
  readonly revoked: readonly Taint[];
  /** What is written about taints. */
  readonly changes: readonly WrittenChange[];
}

/**
 * The memory after the step was written.
 * @param memory what the leader knows of the Node by now
 * @param unstored what the API server has not stored of {@link StartupStep.toSetAgain}
 */
export function memoryAfterWrite(
  memory: NodeMemory,
  { startup, entriesEnded, revoked, changes }: WrittenStep,
  now: number,
  unstored: UnstoredTaints,
): NodeMemory {
  // A reboot and a deleted entry end the record of earlier changes only, so the changes of this step are added after them.
  const setAgain = rebootTaints(startup).map(({ taint }) => taint);
  const rebooted = startup.boot?.kind === 'SetAgain' ? memoryAfterReboot(memory, setAgain, now) : memory;
  const changed = memoryAfterChanges(memoryAfterRevocation(rebooted, revoked), changes, now);
  const sent = startup.toSetAgain.map(({ taint }) => taint);
  const after = memoryAfterSending(changed, sent, unstored);
  return entriesEnded.length > 0 ? { ...after, entriesEndedAt: now } : after;
}

/** The taints with `afterReboot: SetAgain` among those that are set again or still wait. */
export function rebootTaints({
  toSetAgain,
  waiting,
}: Pick<StartupStep, 'toSetAgain' | 'waiting'>): StartupRequirement[] {
  return [...toSetAgain, ...waiting.map(({ requirement }) => requirement)].filter(({ setsAgain }) => setsAgain);
}

/**
 * The memory after the leader has recorded a reboot.
 * @param taints of `afterReboot: SetAgain`. That the leader removed them in an earlier boot is no conflict: it sets them itself.
 */
function memoryAfterReboot(memory: NodeMemory, taints: readonly Taint[], now: number): NodeMemory {
  const changes = memory.changes.filter((one) => !taints.some((taint) => sameTaint(taint, one.taint)));
  return { ...memory, changes, reboots: [...memory.reboots.filter((at) => isRecent(at, now)), now] };
}

/** The memory after the leader has deleted its entries of these taints: a later entry is that of a user. */
function memoryAfterRevocation(memory: NodeMemory, taints: readonly Taint[]): NodeMemory {
  const isRevoked = ({ taint, change }: TaintChange) =>
    change === 'allow' && taints.some((one) => sameTaint(one, taint));
  return { ...memory, changes: memory.changes.filter((one) => !isRevoked(one)) };
}

/** The memory after the leader has written these changes. Several policies may be the reason for one. */
function memoryAfterChanges(memory: NodeMemory, written: readonly WrittenChange[], now: number): NodeMemory {
  const notUndone = new Set(
    written.filter(({ wasAsWritten }) => wasAsWritten).map(({ taint }) => lastChange(memory, taint, now)),
  );
  const kept = memory.changes.filter((one) => isRecent(one.at, now) && !notUndone.has(one));
  const added = new Map(written.map(({ taint, change }) => [taintIdentity(taint), { taint, change, at: now }]));
  return { ...memory, changes: [...kept, ...added.values()] };
}

/** The memory after a write of these taints, of which the API server has not stored some. Those of an earlier write stay. */
function memoryAfterSending(
  memory: NodeMemory,
  sent: readonly Taint[],
  { bootId, taints }: UnstoredTaints,
): NodeMemory {
  const earlier = unstoredOf(memory, bootId).filter((taint) => !sent.some((one) => sameTaint(one, taint)));
  return { ...memory, unstored: unstoredIn(bootId, [...earlier, ...taints]) };
}

/** Whether the taint of a Node is as the leader last wrote it: no other writer has undone that. False without such a write. */
export function isAsWritten(
  memory: NodeMemory,
  node: Pick<NodeView, 'taints' | 'allowRemoval'>,
  taint: Taint,
  now: number,
) {
  const last = lastChange(memory, taint, now);
  if (last === undefined) return false;
  const carried = node.taints.find((one) => sameTaint(one, taint));
  if (last.change === 'remove') return carried === undefined;
  if (carried === undefined || !equalTaints(carried, last.taint)) return false;
  return last.change === 'set' || isRemovalAllowed(parseAllowedRemovals(node.allowRemoval), last.taint);
}

/** How many milliseconds ago the leader recorded the last reboot of the Node. Undefined if it has recorded none. */
export function lastRebootMsAgo({ reboots }: NodeMemory, now: number): number | undefined {
  const last = reboots.at(-1);
  return last === undefined ? undefined : now - last;
}

/** The taints that the Node has not got since, in the boot into which it rebooted. */
export function stillUnstored(
  memory: NodeMemory,
  { bootId, taints }: Pick<StoredNode, 'bootId' | 'taints'>,
): readonly Taint[] {
  return unstoredOf(memory, bootId).filter((taint) => !taints.some((one) => sameTaint(one, taint)));
}

function unstoredOf({ unstored }: NodeMemory, bootId: string | undefined): readonly Taint[] {
  return unstored === undefined || unstored.bootId !== bootId ? [] : unstored.taints;
}

export function unstoredIn(bootId: string | undefined, taints: readonly Taint[]): UnstoredTaints | undefined {
  return taints.length === 0 ? undefined : { bootId, taints };
}

/** For how many milliseconds reboots of the Node change nothing, because there were too many: its boot ID changes back and forth. 0 if they do. */
export function rebootsPausedForMs({ reboots }: NodeMemory, now: number): number {
  const first = reboots.at(-UNDO_BUDGET.limit);
  return first === undefined ? 0 : Math.max(0, first + UNDO_BUDGET.windowMs - now);
}

/** The taints for which this leader has written an entry of the annotation `allow-removal`, and nothing since. */
export function allowedByLeader(memory: NodeMemory, now: number): readonly Taint[] {
  return memory.changes.flatMap((one) =>
    one.change === 'allow' && one === lastChange(memory, one.taint, now) ? one.taint : [],
  );
}

/** Whether another writer undoes the leader's changes of the taint repeatedly, if the taint is not as the leader last wrote it. */
export function isInConflict(memory: NodeMemory, taint: Taint, now: number): boolean {
  return recentChanges(memory, taint, now).length >= UNDO_BUDGET.limit;
}

/**
 * The conflicts of a Node as they are now.
 * @param inConflict what the leader leaves to the other writer
 */
export function conflictsNow(
  memory: NodeMemory,
  inConflict: readonly { readonly taint: Taint; readonly policy: string }[],
  now: number,
): NodeMemory['conflicts'] {
  const known = [...memory.conflicts].filter(([, { taint }]) => recentChanges(memory, taint, now).length > 0);
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
export function conflictChangesInMs(memory: NodeMemory, taint: Taint, now: number): number | undefined {
  const [first] = recentChanges(memory, taint, now);
  return first === undefined ? undefined : first.at + UNDO_BUDGET.windowMs - now;
}

function recentChanges({ changes }: NodeMemory, taint: Taint, now: number): readonly TaintChange[] {
  return changes.filter((one) => sameTaint(one.taint, taint) && isRecent(one.at, now));
}

function lastChange(memory: NodeMemory, taint: Taint, now: number): TaintChange | undefined {
  return recentChanges(memory, taint, now).at(-1);
}

function isRecent(time: number, now: number): boolean {
  return now - time < UNDO_BUDGET.windowMs;
}
