import { beforeEach, vi } from 'vitest';

const STEP_MS = 50;
/** So often, the clock goes on by a step. */
const EVERY_MS = 2;

/**
 * For the tests of a suite in which pauses of the program pass, and nothing else takes time: all timers and the clock run 25 times as fast. Not in a
 * test that stops the clock, or moves it itself.
 */
export function runTimeFaster(): void {
  beforeEach(() => {
    const { setInterval, clearInterval } = globalThis;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] });
    const { setTimeout } = globalThis;
    const clock = setInterval(() => {
      // Where a test has put another clock in place of this one, that must not move.
      if (globalThis.setTimeout === setTimeout) vi.advanceTimersByTime(STEP_MS);
    }, EVERY_MS);
    return () => {
      clearInterval(clock);
      vi.useRealTimers();
    };
  });
}
