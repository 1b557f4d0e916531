import { sameTaint, type Taint, taintIdentity } from '../../kubernetes/taint.ts';
import { ALLOW_REMOVAL_LIFE_MS } from '../allow-removal.ts';
import { rebootTaints, type StartupStep } from '../startup/startup-step.ts';
import type { NodeMemory } from './node-memory.ts';
import type { TaintTimes } from './taint-times.ts';
import { isRecent, lastChange, type TaintChange } from './undone-changes.ts';
import { type UnstoredTaints, unstoredAfterWrite } from './unstored-taints.ts';

/** A change that a step writes. */
export interface WrittenChange extends Omit<TaintChange, 'at'> {
  /** The taint was as the leader had written it, see {@link isAsWritten}: the leader writes because something else has changed. */
  readonly wasAsWritten: boolean;
}

/** The parts of a step that the memory keeps. */
export interface WrittenStep {
  readonly startup: Pick<StartupStep, 'boot' | 'toSetAgain' | 'waiting'>;
  /** The taints whose entries of the annotation `allow-removal` are deleted, because the node has carried both for too long, with the value of the entry. */
  readonly expired: readonly Taint[];
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
  { startup, expired, revoked, changes }: WrittenStep,
  now: number,
  unstored: UnstoredTaints,
): NodeMemory {
  // A reboot and a deleted entry end the record of earlier changes only, so the changes of this step are added after them.
  const setAgain = rebootTaints(startup).map(({ taint }) => taint);
  const rebooted = startup.boot?.kind === 'SetAgain' ? memoryAfterReboot(memory, setAgain, now) : memory;
  const changed = memoryAfterChanges(memoryAfterRevocation(rebooted, revoked), changes, now);
  const sent = startup.toSetAgain.map(({ taint }) => taint);
  return {
    ...changed,
    expired: expiredAfterWrite(memory.expired, expired, now),
    unusedRecord: startup.boot?.kind === 'Delete' ? 'Deleted' : changed.unusedRecord,
    unstored: unstoredAfterWrite(changed.unstored, sent, unstored),
  };
}

function expiredAfterWrite(before: TaintTimes, taints: readonly Taint[], now: number): TaintTimes {
  const recent = before.filter(({ at }) => now - at < ALLOW_REMOVAL_LIFE_MS);
  return [...recent, ...taints.map((taint) => ({ taint, at: now }))];
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
