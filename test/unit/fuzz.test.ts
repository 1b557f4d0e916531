import fc from 'fast-check';
import { describe, it } from 'vitest';
import { TARGETS } from '../fuzz/targets.ts';
import { isExploring } from '../seed.ts';

/** A few of the cases that `npm run fuzz` has; a failure says the seed, and what was thrown. */
const RUNS = { numRuns: isExploring() ? 300 : 100 };
/** On a busy machine. */
const TIMEOUT_MS = 30_000;

describe('every input gets an answer, and does no harm:', () => {
  it.each(TARGETS)('$name', ({ property }) => fc.assert(property, RUNS), TIMEOUT_MS);
});
