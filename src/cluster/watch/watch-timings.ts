/** The timings of a watch, in milliseconds. */
export interface WatchTimings {
  /** The requested duration of each watch, shortened at random by up to a fifth. Whole seconds. */
  readonly watchMs: number;
  /** A watch that the API server has not ended this long after its requested end is dead. */
  readonly graceMs: number;
  /** A list that is the beginning of a watch is given up if it is not complete this long after the API server accepted it. */
  readonly streamedListMs: number;
  /** The shortest and the longest pause between failed attempts. */
  readonly backOffMinMs: number;
  readonly backOffMaxMs: number;
  /** Everything is listed again after this long, shortened at random by up to a fifth. */
  readonly relistMs: number;
}

/**
 * A half-open connection is noticed at most 35 s after its watch began, because no watch lasts longer than 30 s (a list on it, also one that
 * begins a watch: after 20 s). The cache is current again within 45 s, and after an outage of the API server within 10 s of its recovery plus the time
 * of the lists.
 */
export const WATCH_TIMINGS: WatchTimings = {
  watchMs: 30_000,
  graceMs: 5_000,
  streamedListMs: 10_000,
  backOffMinMs: 100,
  backOffMaxMs: 10_000,
  relistMs: 3_600_000,
};

/** The time, shortened at random by up to a fifth, so that replicas that started together do not stay in step. */
export function jittered(ms: number): number {
  return ms * (0.8 + Math.random() / 5);
}
