export interface EventTimings {
  /** How long a new Event waits for equal ones. */
  readonly settleMs: number;
  /** How often the count of one Event is written while it grows. */
  readonly patchIntervalMs: number;
  /** How long after its last write an Event is still counted up. After that, a new one is created. */
  readonly windowMs: number;
  /** How many writes may follow one another at once, and the time until one more is allowed. */
  readonly burst: number;
  readonly refillMs: number;
  /** How long a shutdown waits for the waiting Events. */
  readonly flushMs: number;
}

/** The window is client-go's (`finishTime`); API servers forget an Event an hour after its last write. */
export const EVENT_TIMINGS: EventTimings = {
  settleMs: 1_000,
  patchIntervalMs: 30_000,
  windowMs: 360_000,
  burst: 20,
  refillMs: 2_000,
  flushMs: 2_000,
};
