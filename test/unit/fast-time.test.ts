import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { runTimeFaster } from './fast-time.ts';
import { stopClock } from './stopped-clock.ts';

runTimeFaster();

it('a clock that a test stops stands still, also where time runs faster otherwise', async () => {
  stopClock();
  const before = performance.now();
  for (const end = Date.now() + 20; Date.now() < end; ) await setImmediate();
  expect(performance.now()).toBe(before);
});
