import { HARMS } from '../by-hand.ts';
import type { Scenario } from '../measure.ts';

/** What people do to the cluster's objects, one at a time; the monkey does them in any order. */
export const handMadeFaults: readonly Scenario[] = HARMS.map(({ name, what, harm }) => ({ name, what, run: harm }));
