import { UNDO_BUDGET } from './undone-changes.ts';

/** The reboots of a Node that this leader has recorded. */
export interface RecordedReboots {
  /** When the leader set startup taints again after a reboot, in milliseconds of the monotonic clock. In the order of time. */
  readonly reboots: readonly number[];
}

/** How many milliseconds ago the leader recorded the last reboot of the Node. Undefined if it has recorded none. */
export function lastRebootMsAgo({ reboots }: RecordedReboots, now: number): number | undefined {
  const last = reboots.at(-1);
  return last === undefined ? undefined : now - last;
}

/** For how many milliseconds reboots of the Node change nothing, because there were too many: its boot ID changes back and forth. 0 if they do. */
export function rebootsPausedForMs({ reboots }: RecordedReboots, now: number): number {
  const first = reboots.at(-UNDO_BUDGET.limit);
  return first === undefined ? 0 : Math.max(0, first + UNDO_BUDGET.windowMs - now);
}
