export interface EventTimings {
  /** How long a new Event waits: for more of its kind, and for its object, which is being created. */
  readonly settleMs: number;
  /** How often the count of one Event is written while it grows. */
  readonly patchIntervalMs: number;
  /** How long after its last write an Event goes on being counted up, instead of a new one being made. */
  readonly windowMs: number;
  /** How many writes may follow one another at once, and how long it takes until one more may. */
  readonly burst: number;
  readonly refillMs: number;
  /** How long a stop waits for what is still to be written. */
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
