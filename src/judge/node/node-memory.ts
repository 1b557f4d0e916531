import { identity, sameTaint, type Taint } from '../../kubernetes/taint.ts';
import type { AwaitedTaint } from '../startup/startup-step.ts';
import { NO_TIMES, type TaintTimes } from './taint-times.ts';

/** A taint that the leader wrote this often within the window, and has to write again, is in conflict with another writer. */
export const CONFLICT = { limit: 3, windowMs: 600_000 } as const;

/** A taint that another writer removes repeatedly; or sets repeatedly, if it is a startup taint that the leader removes. */
export interface Conflict {
  readonly taint: Taint;
  /** The names of the policies that declare it. */
  readonly policies: readonly string[];
}

/**
 * What the leader knows of a Node and no object says. A new leader begins with none, and losing it is harmless: a conflict is found again after three
 * restorations, an entry stays for another hour, and a startup taint of a deleted policy stays until a user removes it. All times are in
 * milliseconds of the monotonic clock.
 */
export interface NodeMemory {
  /** Of the Node: a later Node of that name has a memory of its own. */
  readonly uid: string;
  /** When the leader set a missing taint, with any value, or removed a startup taint: several times for some. In the order of time. */
  readonly restorations: TaintTimes;
  /** By the identity of a taint. A conflict ends once the leader has restored nothing for the whole window. */
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
const NO_REBOOTS: NodeMemory['reboots'] = [];

export function newMemory(uid: string): NodeMemory {
  return {
    uid,
    restorations: NO_TIMES,
    conflicts: NO_CONFLICTS,
    standing: NO_TIMES,
    entriesEndedAt: undefined,
    reboots: NO_REBOOTS,
    awaited: [],
  };
}

/** Whether it says nothing, and need not be kept. */
export function isBlank({ restorations, conflicts, standing, entriesEndedAt, reboots, awaited }: NodeMemory): boolean {
  const sizes = [restorations.length, conflicts.size, standing.length, reboots.length, awaited.length];
  return sizes.every((size) => size === 0) && entriesEndedAt === undefined;
}

/** The memory after the leader has set these taints, or removed them. */
export function memoryAfterRestoration(memory: NodeMemory, taints: readonly Taint[], now: number): NodeMemory {
  const recent = memory.restorations.filter(({ at }) => isRecent(at, now));
  const restored = new Map(taints.map((taint) => [identity(taint), { taint, at: now }]));
  return { ...memory, restorations: [...recent, ...restored.values()] };
}

/**
 * The memory after the leader has recorded a reboot.
 * @param taints of `afterReboot: SetAgain`. That the leader removed them in an earlier boot is no conflict: it sets them itself.
 */
export function memoryAfterReboot(memory: NodeMemory, taints: readonly Taint[], now: number): NodeMemory {
  const restorations = memory.restorations.filter((one) => !taints.some((taint) => sameTaint(taint, one.taint)));
  return { ...memory, restorations, reboots: [...memory.reboots.filter((at) => isRecent(at, now)), now] };
}

/** For how many milliseconds reboots of the Node change nothing, because there were too many: its boot ID changes back and forth. 0 if they do. */
export function rebootsPausedForMs({ reboots }: NodeMemory, now: number): number {
  const first = reboots.at(-CONFLICT.limit);
  return first === undefined ? 0 : Math.max(0, first + CONFLICT.windowMs - now);
}

/** Whether another writer undoes the leader's changes of the taint repeatedly. */
export function isInConflict(memory: NodeMemory, taint: Taint, now: number): boolean {
  return recentRestorations(memory, taint, now).length >= CONFLICT.limit;
}

/**
 * The conflicts of a Node as they are now.
 * @param losses of taints that the leader leaves to the other writer
 */
export function conflictsNow(
  memory: NodeMemory,
  losses: readonly { readonly taint: Taint; readonly policy: { readonly name: string } }[],
  now: number,
): NodeMemory['conflicts'] {
  const known = [...memory.conflicts].filter(([, { taint }]) => recentRestorations(memory, taint, now).length > 0);
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
export function conflictChangesInMs(memory: NodeMemory, taint: Taint, now: number): number | undefined {
  const [first] = recentRestorations(memory, taint, now);
  return first === undefined ? undefined : first + CONFLICT.windowMs - now;
}

function recentRestorations({ restorations }: NodeMemory, taint: Taint, now: number): readonly number[] {
  return restorations.flatMap((one) => (sameTaint(one.taint, taint) && isRecent(one.at, now) ? one.at : []));
}

function isRecent(time: number, now: number): boolean {
  return now - time < CONFLICT.windowMs;
}
