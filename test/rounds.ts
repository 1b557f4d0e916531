import fc from 'fast-check';
import { expect } from 'vitest';
import { isExploring, seed } from './seed.ts';

/** More cases are tried until everything has occurred: some of it is rare. */
export const MAX_ROUNDS = 6;

/**
 * Checks generated cases in rounds, each with cases of its own, until everything that must occur has occurred. Without one of these, the cases
 * would prove nothing about it.
 *
 * @param check gives what occurred in a case
 * @returns how often each of these occurred
 */
export async function checkUntilAllOccurred<Case>(
  cases: fc.Arbitrary<Case>,
  check: (one: Case) => readonly string[] | Promise<readonly string[]>,
  {
    numRuns,
    usualSeed,
    all,
  }: { readonly numRuns: number; readonly usualSeed: number; readonly all: readonly string[] },
): Promise<ReadonlyMap<string, number>> {
  const occurred = new Map<string, number>();
  const property = fc.asyncProperty(cases, async (one) => {
    for (const what of await check(one)) occurred.set(what, (occurred.get(what) ?? 0) + 1);
  });
  const missing = () => (isExploring() ? [] : all.filter((what) => !occurred.has(what)));
  for (let round = 0; round === 0 || (round < MAX_ROUNDS && missing().length > 0); round++) {
    await fc.assert(property, { numRuns, endOnFailure: true, seed: seed(usualSeed) + round });
  }
  expect(missing(), `Occurred: ${[...occurred.keys()].join(', ')}`).toEqual([]);
  return occurred;
}
