import { POLICY_GONE_MS } from '../ended-startup-taints.ts';
import type { NodeBoot } from '../node-boot.ts';
import type { StartupRequirement } from './startup-requirement.ts';

/**
 * What the leader knows of the recorded boot of a Node that no policy of `afterReboot: SetAgain` uses: since when, in milliseconds of the monotonic clock, or
 * that it has deleted the record. Undefined while a policy uses the record, or if the Node has none.
 */
export type UnusedRecord = number | 'Deleted' | undefined;

interface RecordFacts {
  /** What it was before. */
  readonly unusedRecord: UnusedRecord;
  /** Whether all policies could be read: one that could not may use the record. */
  readonly isComplete: boolean;
  /** In milliseconds of the monotonic clock. */
  readonly now: number;
}

/**
 * A record that nothing updates would become that of an earlier boot, and a later policy would take a node that has run for long as one that has just rebooted.
 * Once the leader has deleted it, a record that another client writes stays until a policy uses it: two clients would write in turn.
 * @param requirements of the policies that select the node in their declared mode. They include parts that this version does not know
 */
export function unusedRecordOf(
  { startupBoot }: Pick<NodeBoot, 'startupBoot'>,
  requirements: readonly StartupRequirement[],
  { unusedRecord, isComplete, now }: RecordFacts,
): UnusedRecord {
  if (requirements.some(({ setsAgain }) => setsAgain)) return undefined;
  if (unusedRecord === 'Deleted') return unusedRecord;
  if (startupBoot === undefined || !isComplete) return undefined;
  return unusedRecord ?? now;
}

/** When an unused record is deleted, in milliseconds of the monotonic clock: its policy may be created again before. Undefined for never. */
export function deletedAt(unusedRecord: UnusedRecord): number | undefined {
  return typeof unusedRecord === 'number' ? unusedRecord + POLICY_GONE_MS : undefined;
}

/** Whether an unused record is to be deleted now. */
export function isDueToDelete(unusedRecord: UnusedRecord, now: number): boolean {
  const at = deletedAt(unusedRecord);
  return at !== undefined && at <= now;
}
