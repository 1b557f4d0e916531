import { setImmediate } from 'node:timers/promises';
import { onTestFinished, vi } from 'vitest';
import { LONGEST_WAIT_MS } from '../longest-wait.ts';

/** Stops `setTimeout` and `performance` for the running test; `vi.advanceTimersByTime` moves them. Sockets and `Date` go on. */
export function stopClock(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
}

/** Waits for what sockets bring, while the clock stands still. `vi.waitFor` and `expect.poll` would move it. */
export async function whenTrue(condition: () => boolean): Promise<void> {
  // `hrtime` goes on.
  const until = process.hrtime.bigint() + BigInt(LONGEST_WAIT_MS) * 1_000_000n;
  while (!condition()) {
    if (process.hrtime.bigint() > until) throw new Error(`not true within ${LONGEST_WAIT_MS / 1000} s: ${condition}`);
    await setImmediate();
  }
}
