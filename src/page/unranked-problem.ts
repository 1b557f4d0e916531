import type { Harm } from '../policy/reporting/harm.ts';
import type { Fix, Place } from './state.ts';

/** If there are more causes of one kind than this, the last problem counts the rest. */
const MAX_CAUSES = 8;

/** A problem before it is ranked. */
export interface UnrankedProblem {
  readonly harm: Harm;
  /** How many objects it concerns. */
  readonly count?: number;
  readonly text: string;
  readonly place?: Place;
  /** All whom it concerns, by name. Those that are not known by name are empty. */
  readonly names?: readonly string[];
  /** Where one of the names is shown. */
  readonly nameAt?: (name: string) => Place | undefined;
  readonly why?: string | undefined;
  readonly fix?: Fix | undefined;
}

/** The problems of the first causes, and one problem for all further causes. */
export function problemsOfCauses<Cause>(
  causes: readonly Cause[],
  problemOf: (cause: Cause) => UnrankedProblem,
  furtherProblem: (further: readonly [Cause, ...Cause[]]) => UnrankedProblem,
): UnrankedProblem[] {
  const [next, ...others] = causes.slice(MAX_CAUSES);
  return [
    ...causes.slice(0, MAX_CAUSES).map(problemOf),
    ...(next === undefined ? [] : [furtherProblem([next, ...others])]),
  ];
}
