import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { limitRepairs } from '../../../src/controllers/repair-limit.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const OURS = [{ name: 'a' }];

it('what is written for the first time, or is something else, is no repair', () => {
  const limit = limitRepairs();
  expect(limit.isRepair(OURS)).toBe(false);
  limit.written(OURS);
  expect(limit.isRepair([{ name: 'a' }])).toBe(true);
  expect(limit.isRepair([{ name: 'b' }])).toBe(false);
});

it('the first repair need not wait, and the next ones ever longer', () => {
  const limit = limitRepairs();
  limit.written(OURS);
  const waits = Array.from({ length: 12 }, () => {
    const waitMs = limit.waitMs();
    vi.advanceTimersByTime(waitMs);
    limit.written(OURS);
    return waitMs;
  });
  expect(waits[0]).toBe(0);
  expect(waits[1]).toBeLessThanOrEqual(100);
  expect(waits.at(-1)).toBeGreaterThan(20_000);
  expect(Math.max(...waits)).toBeLessThanOrEqual(60_000);
});

it('says once that there are too many', () => {
  const limit = limitRepairs();
  expect(Array.from({ length: 10 }, () => limit.written(OURS)).filter(Boolean)).toHaveLength(1);
});

it('begins anew after a quiet time, and when something else is required', () => {
  const limit = limitRepairs();
  for (let i = 0; i < 10; i++) limit.written(OURS);
  vi.advanceTimersByTime(200_000);
  expect(limit.waitMs()).toBe(0);
  limit.written(OURS);
  expect(limit.waitMs()).toBeLessThanOrEqual(100);

  for (let i = 0; i < 10; i++) limit.written(OURS);
  limit.written([{ name: 'b' }]);
  expect(limit.waitMs()).toBe(0);
  limit.written([{ name: 'b' }]);
  expect(limit.waitMs()).toBeGreaterThan(0);
});
