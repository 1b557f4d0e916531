import fc from 'fast-check';
import { expect } from 'vitest';
import { isExploring, seed } from './seed.ts';

/** More cases are tried until everything has occurred: some of it is rare. */
export const MAX_ROUNDS = 6;

/**
 * Asserts the property in rounds, each with cases of its own, until everything that must occur has occurred. Without one of these, the cases
 * would prove nothing about it.
 *
 * @param occurred what the property counts
 */
export async function assertUntilAllOccurred(
  property: fc.IAsyncProperty<unknown> | fc.IProperty<unknown>,
  {
    numRuns,
    usualSeed,
    all,
    occurred,
  }: {
    readonly numRuns: number;
    readonly usualSeed: number;
    readonly all: readonly string[];
    readonly occurred: ReadonlyMap<string, number>;
  },
): Promise<void> {
  const missing = () => (isExploring() ? [] : all.filter((what) => !occurred.has(what)));
  for (let round = 0; round === 0 || (round < MAX_ROUNDS && missing().length > 0); round++) {
    await fc.assert(property, { numRuns, endOnFailure: true, seed: seed(usualSeed) + round });
  }
  expect(missing(), `Occurred: ${[...occurred.keys()].join(', ')}`).toEqual([]);
}
