import { expect, it } from 'vitest';
import { createAttempts } from '../../../src/runtime/back-off.ts';

const WINDOW_MS = 1_000;

it('are counted by key, the oldest first, for the length of the window', () => {
  const attempts = createAttempts();
  for (const now of [0, 400, 800]) attempts.record('a', now);
  attempts.record('b', 500);
  expect(attempts.within('a', WINDOW_MS, 999)).toEqual([0, 400, 800]);
  expect(attempts.within('a', WINDOW_MS, 1_000)).toEqual([400, 800]);
  expect(attempts.within('b', WINDOW_MS, 1_500)).toEqual([]);
  expect(attempts.within('c', WINDOW_MS, 0)).toEqual([]);
});

it('are forgotten when they are older, and no others', () => {
  const attempts = createAttempts();
  attempts.record('a', 0);
  attempts.record('b', 0);
  attempts.record('b', 600);
  attempts.forget(WINDOW_MS, 1_200);
  expect(attempts.within('a', 10 * WINDOW_MS, 1_200)).toEqual([]);
  expect(attempts.within('b', 10 * WINDOW_MS, 1_200)).toEqual([600]);
});
