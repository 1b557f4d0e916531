import { setTimeout as delay } from 'node:timers/promises';

const SHORTEST_INTERVAL_MS = 50;
const LONGEST_INTERVAL_MS = 500;

/**
 * Asks `probe` again and again until it answers something, and returns that. The longer it takes, the less often, because each question costs an
 * API server time that other tests need: the answer is noticed up to 50 ms or 5 % later.
 *
 * @param probe `undefined` means not yet; an exception ends the waiting and is passed on
 * @param bound how long to ask, in milliseconds, and what to say when that time passes; `intervalMs` asks at an even pace, for measurements
 * @throws Error with the text of `bound.otherwise` once the time has passed
 */
export async function waitUntil<T>(
  probe: () => T | undefined | Promise<T | undefined>,
  bound: { timeoutMs: number; intervalMs?: number; otherwise: () => string },
): Promise<T> {
  const start = performance.now();
  for (;;) {
    const found = await probe();
    if (found !== undefined) return found;
    const elapsed = performance.now() - start;
    if (elapsed > bound.timeoutMs) throw new Error(bound.otherwise());
    await delay(bound.intervalMs ?? Math.min(Math.max(SHORTEST_INTERVAL_MS, elapsed / 20), LONGEST_INTERVAL_MS));
  }
}
