import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { turnQueue } from '../../../src/runtime/turn-queue.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const INTERVAL_MS = 200;

function start() {
  const began = performance.now();
  const turns: string[] = [];
  const ending = new AbortController();
  const queue = turnQueue({
    intervalMs: INTERVAL_MS,
    onTurn: (key) => turns.push(`${key} ${performance.now() - began}`),
    signal: ending.signal,
  });
  return { queue, turns, stop: () => ending.abort() };
}

it('gives the first key its turn at once, and each later one an interval after the one before', () => {
  const { queue, turns } = start();
  expect(['a', 'b', 'c'].map(queue.dueInMs)).toEqual([0, 200, 400]);
  vi.advanceTimersByTime(50);
  expect(['a', 'b', 'c'].map(queue.dueInMs)).toEqual([0, 150, 350]);
  vi.advanceTimersByTime(1_000);
  expect(turns).toEqual(['b 200', 'c 400']);
  expect(['a', 'b', 'c', 'd'].map(queue.dueInMs)).toEqual([0, 0, 0, 0]);
});

it('the keys behind one that leaves come an interval earlier', () => {
  const { queue, turns } = start();
  for (const key of ['a', 'b', 'c', 'd', 'e']) queue.dueInMs(key);
  for (const key of ['b', 'd']) queue.leave(key);
  vi.advanceTimersByTime(1_000);
  expect(turns).toEqual(['c 200', 'e 400']);
});

it('a key that leaves and comes back is the last one', () => {
  const { queue, turns } = start();
  for (const key of ['a', 'b', 'c']) queue.dueInMs(key);
  queue.leave('b');
  expect(queue.dueInMs('b')).toBeLessThanOrEqual(600);
  vi.advanceTimersByTime(1_000);
  expect(turns).toEqual(['c 200', 'b 400']);
});

it('a key that has had its turn and left needs another one', () => {
  const { queue } = start();
  expect(queue.dueInMs('a')).toBe(0);
  queue.leave('a');
  expect(queue.dueInMs('a')).toBe(200);
});

it('after all have left, the next key waits for one interval at most', () => {
  const { queue, turns } = start();
  const keys = Array.from({ length: 5_000 }, (_, index) => `k${index}`);
  for (const key of keys) queue.dueInMs(key);
  for (const key of keys) queue.leave(key);
  expect(queue.dueInMs('late')).toBe(200);
  vi.advanceTimersByTime(200);
  expect(turns).toEqual(['late 200']);
  vi.advanceTimersByTime(200);
  expect(vi.getTimerCount()).toBe(0);
});

it('gives no turns once it is stopped', () => {
  const { queue, turns, stop } = start();
  for (const key of ['a', 'b']) queue.dueInMs(key);
  stop();
  queue.dueInMs('c');
  expect(vi.getTimerCount()).toBe(0);
  vi.advanceTimersByTime(1_000);
  expect(turns).toEqual([]);
});
