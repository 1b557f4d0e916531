/**
 * For what may happen thousands of times: calls `say` the first time, and then at most so often.
 * @param say is told how often it happened since it was last called
 */
export function sparingly(everyMs: number, say: (times: number) => void): () => void {
  let saidAt = Number.NEGATIVE_INFINITY;
  let times = 0;
  return () => {
    times++;
    if (performance.now() - saidAt < everyMs) return;
    saidAt = performance.now();
    say(times);
    times = 0;
  };
}
