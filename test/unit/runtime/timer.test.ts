import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startTimer } from '../../../src/runtime/timer.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it.each([
  { ms: -5, why: 'has passed', until: 0 },
  { ms: Number.NEGATIVE_INFINITY, why: 'has always passed', until: 0 },
  { ms: 250, why: 'is to come', until: 250 },
  { ms: Number.POSITIVE_INFINITY, why: 'never comes: a timer has a longest time', until: 2_147_483_647 },
])('calls back in $until ms for a time of $ms ms, which $why', ({ ms, until }) => {
  const set = vi.spyOn(globalThis, 'setTimeout');
  const work = vi.fn();
  startTimer(work, ms);
  expect(set).toHaveBeenCalledExactlyOnceWith(work, until);
  vi.advanceTimersByTime(until);
  expect(work).toHaveBeenCalledOnce();
});
