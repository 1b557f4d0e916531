/** A point in time, by both clocks of the machine, in milliseconds. */
export interface Moment {
  /** The monotonic clock, which may stop while the machine is suspended. */
  readonly monotonic: number;
  /** The wall clock, which can be set back. */
  readonly wall: number;
}

export function thisMoment(): Moment {
  return { monotonic: performance.now(), wall: Date.now() };
}

/** Milliseconds since then, by the clock that shows more, so that nothing counts as younger than it is. */
export function longestSince({ monotonic, wall }: Moment): number {
  return Math.max(performance.now() - monotonic, Date.now() - wall);
}
