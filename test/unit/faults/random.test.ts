import { expect, it } from 'vitest';
import { seededRandom } from '../../faults/random.ts';

const first = (seed: number, count: number) => {
  const random = seededRandom(seed);
  return Array.from({ length: count }, random);
};

it('gives the same numbers for the same seed, and others for another', () => {
  expect(first(7, 100)).toEqual(first(7, 100));
  expect(first(7, 100)).not.toEqual(first(8, 100));
});

it('gives numbers from 0 to below 1, of all sizes', () => {
  const tenths = first(1, 10_000).map((number) => Math.floor(number * 10));
  expect([...new Set(tenths)].toSorted()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(tenths.filter((tenth) => tenth === 3).length).toBeGreaterThan(800);
});
