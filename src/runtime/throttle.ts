const EVERY_MS = 10_000;

/**
 * Calls `say` the first time, and then at most every ten seconds, for messages that could occur thousands of times.
 * @param say called with the number of occurrences since its last call, and the latest of them
 */
export function throttle<Occurrence extends unknown[]>(
  say: (times: number, ...latest: Occurrence) => void,
): (...latest: Occurrence) => void {
  let saidAt = Number.NEGATIVE_INFINITY;
  let times = 0;
  return (...latest) => {
    times++;
    if (performance.now() - saidAt < EVERY_MS) return;
    saidAt = performance.now();
    say(times, ...latest);
    times = 0;
  };
}
