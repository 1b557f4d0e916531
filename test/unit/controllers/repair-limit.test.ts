import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { limitRepairs, type RepairLimit } from '../../../src/controllers/repair-limit.ts';

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

describe('a conflict with another writer', () => {
  const REPAIRS_TO_LIMIT = 5;
  /** As another writer undoes so many repairs, and the leader repairs as soon as it may. */
  function undo(limit: RepairLimit, times: number, desired: unknown = OURS) {
    for (let time = 0; time < times; time++) {
      limit.differs(`difference ${time}`);
      vi.advanceTimersByTime(limit.waitMs());
      limit.written(desired);
    }
  }

  function started() {
    const limit = limitRepairs();
    limit.written(OURS);
    return limit;
  }

  it('begins when repairs that reach the limit are undone, and does not end with each repair', () => {
    const limit = started();
    undo(limit, REPAIRS_TO_LIMIT);
    expect(limit.conflict()).toBeUndefined();
    limit.differs('now');
    expect(limit.conflict()).toBe('now');
    for (let repair = 0; repair < 20; repair++) {
      vi.advanceTimersByTime(limit.waitMs());
      expect(limit.conflict()).toBe('now');
      limit.written(OURS);
      expect(limit.conflict()).toBe('now');
    }
  });

  it('ends after two minutes without a repair, and does not come back with the next one', () => {
    const limit = started();
    undo(limit, REPAIRS_TO_LIMIT + 1);
    expect(limit.conflict()).toBeDefined();
    vi.advanceTimersByTime(121_000);
    expect(limit.conflict()).toBeUndefined();
    undo(limit, 1);
    expect(limit.conflict()).toBeUndefined();
  });

  it('lasts if something else is required meanwhile and is undone, too, and ends if that stays', () => {
    const limit = started();
    undo(limit, REPAIRS_TO_LIMIT + 1);
    for (let change = 0; change < 4; change++) {
      const other = [{ name: `${change}` }];
      vi.advanceTimersByTime(60_000);
      limit.written(other);
      undo(limit, 1, other);
      expect(limit.conflict()).toBeDefined();
    }
    for (let change = 0; change < 3; change++) {
      vi.advanceTimersByTime(60_000);
      limit.written([{ name: `stays ${change}` }]);
    }
    expect(limit.conflict()).toBeUndefined();
  });

  it('is none if repairs change nothing that was noted, such as labels', () => {
    const limit = started();
    for (let repair = 0; repair < 20; repair++) limit.written(OURS);
    expect(limit.conflict()).toBeUndefined();
  });
});
