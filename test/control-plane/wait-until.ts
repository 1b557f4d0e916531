import { setTimeout as delay } from 'node:timers/promises';

const POLL_INTERVAL_MS = 50;

/**
 * Asks `probe` again and again until it answers something, and returns that.
 *
 * @param probe `undefined` means not yet; an exception ends the waiting and is passed on
 * @param bound how long and how often to ask, in milliseconds, and what to say when that time passes
 * @throws Error with the text of `bound.otherwise` once the time has passed
 */
export async function waitUntil<T>(
  probe: () => T | undefined | Promise<T | undefined>,
  bound: { timeoutMs: number; intervalMs?: number; otherwise: () => string },
): Promise<T> {
  const deadline = performance.now() + bound.timeoutMs;
  for (;;) {
    const found = await probe();
    if (found !== undefined) return found;
    if (performance.now() > deadline) throw new Error(bound.otherwise());
    await delay(bound.intervalMs ?? POLL_INTERVAL_MS);
  }
}
