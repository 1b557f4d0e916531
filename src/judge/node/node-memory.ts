import type { TrackedTaint } from '../startup/abandoned-taints.ts';
import type { UnusedRecord } from '../startup/unused-record.ts';
import type { RecordedReboots } from './recorded-reboots.ts';
import { NO_TIMES, type TaintTimes } from './taint-times.ts';
import { NO_CONFLICTS, type OwnChanges } from './undone-changes.ts';
import type { UnstoredTaints } from './unstored-taints.ts';

/**
 * What the leader knows of a Node and no object says. A new leader begins with none, and losing it is harmless: a conflict is found again after three
 * changes, an entry stays for another hour or until a user deletes it, a startup taint of a deleted policy stays until a user removes it, and one that was not
 * stored after a reboot is not sent once more, and an unused record of a boot stays for another ten seconds. All times are in milliseconds of the monotonic clock.
 *
 * Each step of a Node begins with the memory of the last one. Afterwards the memory is {@link NodeStep.memoryIfUnwritten}, and once the step is written,
 * what {@link memoryAfterWrite} makes of that.
 */
export interface NodeMemory extends OwnChanges, RecordedReboots {
  /** Of the Node: a later Node of that name has a memory of its own. */
  readonly uid: string;
  /** The taints that the Node carries together with their entry of the annotation `allow-removal`, and since when. */
  readonly carriedWithEntry: TaintTimes;
  /**
   * The taints whose entries the leader has deleted because they had expired, and when: those of the last hour, and older ones until the next write. A
   * GitOps tool may put such an entry back.
   */
  readonly expired: TaintTimes;
  /** The startup taints that the leader has seen on the Node, by a policy. */
  readonly tracked: readonly TrackedTaint[];
  readonly unusedRecord: UnusedRecord;
  /** Undefined for none. */
  readonly unstored: UnstoredTaints | undefined;
}

const NO_CHANGES: NodeMemory['changes'] = [];
const NO_REBOOTS: NodeMemory['reboots'] = [];

export function newMemory(uid: string): NodeMemory {
  return {
    uid,
    changes: NO_CHANGES,
    conflicts: NO_CONFLICTS,
    carriedWithEntry: NO_TIMES,
    expired: NO_TIMES,
    reboots: NO_REBOOTS,
    tracked: [],
    unusedRecord: undefined,
    unstored: undefined,
  };
}

/** Whether it says nothing, and need not be kept. */
export function isBlank(memory: NodeMemory): boolean {
  const { changes, conflicts, carriedWithEntry, expired, reboots, tracked, unusedRecord, unstored } = memory;
  const sizes = [
    changes.length,
    conflicts.size,
    carriedWithEntry.length,
    expired.length,
    reboots.length,
    tracked.length,
  ];
  return sizes.every((size) => size === 0) && unusedRecord === undefined && unstored === undefined;
}
