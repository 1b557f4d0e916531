import { setImmediate } from 'node:timers/promises';
import { onTestFinished, vi } from 'vitest';

/** Stops `setTimeout` and `performance` for the running test; `vi.advanceTimersByTime` moves them. Sockets and `Date` go on. */
export function stopClock(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
}

/** Waits for what sockets bring, while the clock stands still. `vi.waitFor` and `expect.poll` would move it. */
export async function whenTrue(condition: () => boolean): Promise<void> {
  let isOver = false;
  onTestFinished(() => {
    isOver = true;
  });
  while (!condition() && !isOver) await setImmediate();
}
