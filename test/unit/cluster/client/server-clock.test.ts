import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { hearClock, serverClock } from '../../../../src/cluster/client/server-clock.ts';

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

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

// Clocks are named by how far they are ahead of the local one, in milliseconds.
it.each<{ why: string; answers: readonly number[]; believed: number | undefined }>([
  { why: 'the first answer agrees with the local clock', answers: [0], believed: 0 },
  { why: 'ten minutes apart is agreement', answers: [10 * MINUTE_MS], believed: 10 * MINUTE_MS },
  { why: 'the first answer is from a wrong clock', answers: [DAY_MS], believed: undefined },
  { why: 'the local clock is wrong: two answers agree', answers: [DAY_MS, DAY_MS], believed: DAY_MS },
  { why: 'one answer is years ahead', answers: [0, 0, 3650 * DAY_MS], believed: 0 },
  { why: 'one answer is years behind', answers: [0, -3650 * DAY_MS], believed: 0 },
  {
    why: 'one server of several is wrong: every second answer',
    answers: [0, DAY_MS, 0, DAY_MS, 0, DAY_MS],
    believed: 0,
  },
  { why: 'two wrong answers do not agree with each other', answers: [0, DAY_MS, 2 * DAY_MS], believed: 0 },
  { why: 'the clock of the server was set', answers: [0, DAY_MS, DAY_MS + 1], believed: DAY_MS + 1 },
  { why: 'the clock of the server was corrected: the local one agrees', answers: [DAY_MS, DAY_MS, 0], believed: 0 },
  {
    why: 'a clock that drifts is followed',
    answers: [9, 18, 27, 36].map((m) => m * MINUTE_MS),
    believed: 36 * MINUTE_MS,
  },
])('believes a clock: $why', ({ answers, believed }) => {
  let clock: ReturnType<typeof hearClock> = { believed: undefined, doubted: undefined };
  for (const answer of answers) clock = hearClock(clock, answer, 0);
  expect(clock.believed).toBe(believed);
});
