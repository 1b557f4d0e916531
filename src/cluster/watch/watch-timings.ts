/** How long things take in a watch, in milliseconds. */
export interface WatchTimings {
  /** The API server is asked to end each watch after this long, less up to a fifth by chance. Whole seconds. */
  readonly watchMs: number;
  /** A watch that the API server has not ended this long after it should have is dead. */
  readonly graceMs: number;
  /** The shortest and the longest pause between attempts that fail. */
  readonly backOffMinMs: number;
  readonly backOffMaxMs: number;
  /** Everything is listed anew after this long, less up to a fifth by chance. */
  readonly relistMs: number;
}

/**
 * A connection that is dead without saying so (half-open) is noticed 35 s after its watch began at the latest, because no
 * watch is meant to last longer than 30 s (a list on it: after 20 s). The cache is right again within 45 s; after an outage
 * of the API server, within 10 s of its being back, and the time that lists take.
 */
export const WATCH_TIMINGS: WatchTimings = {
  watchMs: 30_000,
  graceMs: 5_000,
  backOffMinMs: 100,
  backOffMaxMs: 10_000,
  relistMs: 3_600_000,
};

/** The time, less up to a fifth by chance, so that replicas that began together do not stay together. */
export function jittered(ms: number): number {
  return ms * (0.8 + Math.random() / 5);
}
