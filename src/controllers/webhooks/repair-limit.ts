import { isDeepStrictEqual } from 'node:util';
import { createBackOff } from '../../runtime/back-off.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 60_000;
/** So long without a repair, and the next one is the first again. */
const QUIET_MS = 120_000;
const REPEATED = 5;

/** Keeps repairs apart: somebody else who wants something different would otherwise be answered without end. */
export interface RepairLimit {
  /** Whether these were written before, so that a difference is somebody else's doing. */
  isRepair(webhooks: unknown): boolean;
  /** How long the next repair has to wait, in milliseconds. */
  waitMs(): number;
  /** These were written just now. True when that is a repair that has been made too often, once. */
  written(webhooks: unknown): boolean;
}

export function limitRepairs(): RepairLimit {
  const backOff = createBackOff({ minMs: FIRST_PAUSE_MS, maxMs: LONGEST_PAUSE_MS });
  let last: unknown;
  let lastAt = 0;
  let notBefore = 0;
  let count = 0;
  const isRepair = (webhooks: unknown) => isDeepStrictEqual(last, webhooks);

  return {
    isRepair,
    waitMs: () => Math.max(0, notBefore - performance.now()),
    written(webhooks) {
      const now = performance.now();
      if (!isRepair(webhooks) || now - lastAt > QUIET_MS) {
        backOff.reset();
        count = 0;
      }
      if (isRepair(webhooks)) {
        notBefore = now + backOff.next();
        count++;
      }
      last = webhooks;
      lastAt = now;
      return count === REPEATED;
    },
  };
}
