import { afterEach, expect, it, vi } from 'vitest';
import { createBackOff } from '../../../src/runtime/back-off.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

it.each([
  { chance: 0.9999999, pauses: [100, 200, 400, 800, 1_000, 1_000] },
  { chance: 0, pauses: [50, 100, 200, 400, 500, 500] },
])('doubles the pauses up to the longest, each at least half (chance $chance)', ({ chance, pauses }) => {
  vi.spyOn(Math, 'random').mockReturnValue(chance);
  const backOff = createBackOff({ minMs: 100, maxMs: 1_000 });
  expect(pauses.map(() => Math.round(backOff.next()))).toEqual(pauses);
});

it('begins anew after progress', () => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  const backOff = createBackOff({ minMs: 100, maxMs: 1_000 });
  backOff.next();
  backOff.next();
  backOff.reset();
  expect(backOff.next()).toBe(50);
});
