import { expect, it } from 'vitest';
import { hearClock } from '../../../src/runtime/clock-jump.ts';

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
])('$why', ({ answers, believed }) => {
  let clock: ReturnType<typeof hearClock> = { believed: undefined, doubted: undefined };
  for (const answer of answers) clock = hearClock(clock, answer, 0);
  expect(clock.believed).toBe(believed);
});
