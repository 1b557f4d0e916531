/** A point in time, by both clocks of the machine, in milliseconds. */
export interface Moment {
  /** The clock that is never set, but may stand still while the machine is suspended. */
  readonly monotonic: number;
  /** The clock that is set, also backwards. */
  readonly wall: number;
}

export function thisMoment(): Moment {
  return { monotonic: performance.now(), wall: Date.now() };
}

/** Milliseconds since then, by the clock that says more: for what must not be taken for younger than it is. */
export function longestSince({ monotonic, wall }: Moment): number {
  return Math.max(performance.now() - monotonic, Date.now() - wall);
}
