/** Takes the time of one thing. */
export interface Stopwatch {
  /** When it began, in milliseconds since the epoch. */
  readonly at: number;
  seconds(): number;
}

export function stopwatch(): Stopwatch {
  const at = Date.now();
  const began = performance.now();
  return { at, seconds: () => (performance.now() - began) / 1000 };
}
