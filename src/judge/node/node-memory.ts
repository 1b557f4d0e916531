import { identity, sameTaint, type Taint } from '../../kubernetes/taint.ts';
import type { AwaitedTaint } from '../startup/startup-step.ts';
import { NO_TIMES, type TaintTime, type TaintTimes } from './taint-times.ts';

/** A change of a taint that the leader wrote this often within the window, and has to write again, is in conflict with another writer. */
export const CONFLICT = { limit: 3, windowMs: 600_000 } as const;

/** A taint that another writer removes repeatedly; or sets repeatedly, if it is a startup taint that the leader removes. */
export interface Conflict {
  readonly taint: Taint;
  /** What the leader does each time. */
  readonly change: 'set' | 'remove';
  /** The names of the policies that declare it. */
  readonly policies: readonly string[];
}

/** What the leader wrote about a taint. `allow`: an entry of the annotation `allow-removal`, which permits the removal. */
export type TaintChangeKind = 'set' | 'remove' | 'allow';

export interface TaintChange extends TaintTime {
  readonly change: TaintChangeKind;
}

/**
 * The changes that the leader itself undoes by each change, so that their repetition is due to no other writer: a startup taint is set and removed as its
 * node becomes ready or not.
 */
const UNDONE_BY: Readonly<Record<TaintChangeKind, readonly TaintChangeKind[]>> = {
  set: ['remove', 'allow'],
  remove: ['set', 'allow'],
  allow: ['set'],
};

/**
 * What the leader knows of a Node and no object says. A new leader begins with none, and losing it is harmless: a conflict is found again after three
 * changes, an entry stays for another hour, and a startup taint of a deleted policy stays until a user removes it. All times are in
 * milliseconds of the monotonic clock.
 */
export interface NodeMemory {
  /** Of the Node: a later Node of that name has a memory of its own. */
  readonly uid: string;
  /**
   * When the leader set a missing taint, with any value, removed a startup taint, or permitted that: several times for some. In the order of time.
   * Without those that the leader itself has undone.
   */
  readonly changes: readonly TaintChange[];
  /** By the identity of a taint. A conflict ends once the leader has repeated nothing for the whole window, or has undone it. */
  readonly conflicts: ReadonlyMap<string, Conflict>;
  /** The taints that stand together with their entry of the annotation `allow-removal`, and since when. */
  readonly standing: TaintTimes;
  /** When the leader last deleted entries. */
  readonly entriesEndedAt: number | undefined;
  /** When the leader set startup taints again after a reboot. In the order of time. */
  readonly reboots: readonly number[];
  /** The startup taints that the leader has seen on the Node, by a policy. */
  readonly awaited: readonly AwaitedTaint[];
}

const NO_CONFLICTS: NodeMemory['conflicts'] = new Map();
const NO_CHANGES: NodeMemory['changes'] = [];
const NO_REBOOTS: NodeMemory['reboots'] = [];

export function newMemory(uid: string): NodeMemory {
  return {
    uid,
    changes: NO_CHANGES,
    conflicts: NO_CONFLICTS,
    standing: NO_TIMES,
    entriesEndedAt: undefined,
    reboots: NO_REBOOTS,
    awaited: [],
  };
}

/** Whether it says nothing, and need not be kept. */
export function isBlank({ changes, conflicts, standing, entriesEndedAt, reboots, awaited }: NodeMemory): boolean {
  const sizes = [changes.length, conflicts.size, standing.length, reboots.length, awaited.length];
  return sizes.every((size) => size === 0) && entriesEndedAt === undefined;
}

/** The memory after the leader has written these changes. Several policies may be the reason for one. */
export function memoryAfterChanges(
  memory: NodeMemory,
  written: readonly Pick<TaintChange, 'taint' | 'change'>[],
  now: number,
): NodeMemory {
  const isUndone = (known: TaintChange) =>
    written.some(({ taint, change }) => sameTaint(taint, known.taint) && UNDONE_BY[change].includes(known.change));
  const kept = memory.changes.filter((one) => isRecent(one.at, now) && !isUndone(one));
  const added = new Map(
    written.map(({ taint, change }) => [`${change} ${identity(taint)}`, { taint, change, at: now }]),
  );
  return { ...memory, changes: [...kept, ...added.values()] };
}

/**
 * The memory after the leader has recorded a reboot.
 * @param taints of `afterReboot: SetAgain`. That the leader removed them in an earlier boot is no conflict: it sets them itself.
 */
export function memoryAfterReboot(memory: NodeMemory, taints: readonly Taint[], now: number): NodeMemory {
  const changes = memory.changes.filter((one) => !taints.some((taint) => sameTaint(taint, one.taint)));
  return { ...memory, changes, reboots: [...memory.reboots.filter((at) => isRecent(at, now)), now] };
}

/** For how many milliseconds reboots of the Node change nothing, because there were too many: its boot ID changes back and forth. 0 if they do. */
export function rebootsPausedForMs({ reboots }: NodeMemory, now: number): number {
  const first = reboots.at(-CONFLICT.limit);
  return first === undefined ? 0 : Math.max(0, first + CONFLICT.windowMs - now);
}

/** Whether another writer undoes this change of the taint repeatedly. */
export function isInConflict(memory: NodeMemory, taint: Taint, change: TaintChangeKind, now: number): boolean {
  return recentChanges(memory, taint, now).filter((one) => one.change === change).length >= CONFLICT.limit;
}

/**
 * The conflicts of a Node as they are now.
 * @param left what the leader leaves to the other writer
 */
export function conflictsNow(
  memory: NodeMemory,
  left: readonly (Omit<Conflict, 'policies'> & { readonly policy: string })[],
  now: number,
): NodeMemory['conflicts'] {
  const lasts = ({ taint, change }: Conflict) =>
    recentChanges(memory, taint, now).some((one) => (one.change === 'set') === (change === 'set'));
  const conflicts = new Map([...memory.conflicts].filter(([, one]) => lasts(one)));
  for (const { taint, change, policy } of left) {
    const policies = conflicts.get(identity(taint))?.policies ?? [];
    if (!policies.includes(policy)) {
      conflicts.set(identity(taint), { taint, change, policies: [...policies, policy] });
    }
  }
  // Nearly all Nodes have none, and each would keep a map of its own.
  return conflicts.size === 0 ? NO_CONFLICTS : conflicts;
}

/** In how many milliseconds a taint in conflict may be changed again, or its conflict ends. Undefined where nothing was changed lately. */
export function conflictChangesInMs(memory: NodeMemory, taint: Taint, now: number): number | undefined {
  const [first] = recentChanges(memory, taint, now);
  return first === undefined ? undefined : first.at + CONFLICT.windowMs - now;
}

function recentChanges({ changes }: NodeMemory, taint: Taint, now: number): readonly TaintChange[] {
  return changes.filter((one) => sameTaint(one.taint, taint) && isRecent(one.at, now));
}

function isRecent(time: number, now: number): boolean {
  return now - time < CONFLICT.windowMs;
}
