const EVERY_MS = 10_000;

/**
 * For what may happen thousands of times: calls `say` the first time, and then at most every ten seconds.
 * @param say is told how often it happened since it was last called
 */
export function sparingly(say: (times: number) => void): () => void {
  let saidAt = Number.NEGATIVE_INFINITY;
  let times = 0;
  return () => {
    times++;
    if (performance.now() - saidAt < EVERY_MS) return;
    saidAt = performance.now();
    say(times);
    times = 0;
  };
}
