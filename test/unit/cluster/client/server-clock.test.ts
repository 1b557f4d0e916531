import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { serverClock } from '../../../../src/cluster/client/api-client.ts';

const OURS = '2026-06-01T12:00:00.000Z';
const THEIRS = 'Sun, 01 Mar 2026 08:00:00 GMT';

beforeEach(() => {
  vi.useFakeTimers({ now: new Date(OURS) });
});
afterEach(() => {
  vi.useRealTimers();
});

it('is our own clock until an answer counts', () => {
  const clock = serverClock();
  expect(clock.now().toISOString()).toBe(OURS);
  for (const nothing of [undefined, '', 'yesterday']) clock.heard(nothing);
  expect(clock.isConfirmed()).toBe(false);
  clock.heard(THEIRS);
  expect(clock.now().toISOString()).toBe(OURS);
  expect(clock.isConfirmed()).toBe(false);
});

it('ignores one answer with a wrong time, and is not confirmed until the next one', () => {
  const clock = serverClock();
  clock.heard(new Date(OURS).toUTCString());
  expect(clock.isConfirmed()).toBe(true);
  clock.heard('Sun, 01 Jun 2031 12:00:00 GMT');
  expect(clock.now().toISOString()).toBe(OURS);
  expect(clock.isConfirmed()).toBe(false);
  clock.heard(new Date(OURS).toUTCString());
  expect(clock.now().toISOString()).toBe(OURS);
  expect(clock.isConfirmed()).toBe(true);
});

it('goes on from what the server told, however our own clock jumps', () => {
  const clock = serverClock();
  for (let answers = 0; answers < 2; answers++) clock.heard(THEIRS);
  vi.advanceTimersByTime(90_000);
  expect(clock.now().toISOString()).toBe('2026-03-01T08:01:30.000Z');
  vi.setSystemTime(new Date('2031-01-01T00:00:00Z'));
  expect(clock.now().toISOString()).toBe('2026-03-01T08:01:30.000Z');
  clock.heard('yesterday');
  expect(clock.now().toISOString()).toBe('2026-03-01T08:01:30.000Z');
});
