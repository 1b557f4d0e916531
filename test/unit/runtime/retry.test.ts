import { expect, it, onTestFinished, vi } from 'vitest';
import { retry } from '../../../src/runtime/retry.ts';

it('logs a failure once, whatever numbers its message has, and another one, and that it works', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const log = { warn: vi.fn(), info: vi.fn() };
  const failures = ['no answer from 10.0.0.1:443', 'no answer from 10.0.0.22:6443', 'not allowed'];
  const work = vi.fn(async () => {
    const message = failures.shift();
    if (message !== undefined) throw new Error(message);
    return 'done';
  });
  const done = retry('certificates', log, work);
  await vi.runAllTimersAsync();
  expect(await done).toBe('done');
  expect(work).toHaveBeenCalledTimes(4);
  expect(log.warn.mock.calls).toEqual([['certificates: no answer from 10.0.0.1:443'], ['certificates: not allowed']]);
  expect(log.info.mock.calls).toEqual([['certificates: it works now']]);
});
