import { isDeepStrictEqual } from 'node:util';
import { createBackOff } from '../runtime/back-off.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 60_000;
/** After this time without a repair, the next one counts as the first. */
const QUIET_MS = 120_000;
const REPEATED = 5;

/** Limits the pace of repairs: otherwise another writer with other desired fields would result in endless writes. */
export interface RepairLimit {
  /** Whether the object was written with these fields before, so that a difference is another writer's. */
  isRepair(desired: unknown): boolean;
  /** How long the next repair has to wait, in milliseconds. */
  waitMs(): number;
  /** Notes that the object was written with these fields just now. @returns `TooOften` once, for the repair that reaches the limit */
  written(desired: unknown): 'TooOften' | undefined;
  /** Notes that the object does not do what is desired, and which difference it has, in words. */
  differs(difference: string): void;
  /**
   * The last such difference, if repairs have reached the limit, and the last one is not two minutes old. It does not end with a repair, which another
   * writer is about to undo.
   */
  conflict(): string | undefined;
}

export function limitRepairs(): RepairLimit {
  const backOff = createBackOff({ minMs: FIRST_PAUSE_MS, maxMs: LONGEST_PAUSE_MS });
  let last: unknown;
  let lastAt = 0;
  let notBefore = 0;
  let count = 0;
  let lastRepairAt = 0;
  let conflict: string | undefined;
  const isRepair = (desired: unknown) => isDeepStrictEqual(last, desired);

  return {
    isRepair,
    waitMs: () => Math.max(0, notBefore - performance.now()),
    written(desired) {
      const now = performance.now();
      if (!isRepair(desired) || now - lastAt > QUIET_MS) {
        backOff.reset();
        count = 0;
        notBefore = 0;
      }
      if (isRepair(desired)) {
        notBefore = now + backOff.next();
        count++;
        if (now - lastRepairAt > QUIET_MS) conflict = undefined;
        lastRepairAt = now;
      }
      last = desired;
      lastAt = now;
      return count === REPEATED ? 'TooOften' : undefined;
    },
    differs(difference) {
      if (count >= REPEATED) conflict = difference;
    },
    conflict: () => (performance.now() - lastRepairAt > QUIET_MS ? undefined : conflict),
  };
}
