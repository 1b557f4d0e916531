import type { StalledReason } from '../../policy/reporting/status-conditions.ts';
import { atMost } from '../../text/counts.ts';
import type { ReportedProblem } from '../reports.ts';

/** Nodes or taints that the message of a problem names at most. */
const MAX_NAMED = 5;

/** A node or a taint that the problem of TaintPolicies is about. */
export interface Concern {
  /** By name. */
  readonly policies: Iterable<string>;
  readonly text: string;
}

/**
 * One problem for each policy, ordered by name.
 * @param message from at most {@link MAX_NAMED} texts, and how many are left out
 */
export function problemsOf(
  concerns: readonly Concern[],
  reason: StalledReason,
  message: (texts: readonly string[]) => string,
): ReportedProblem[] {
  const byPolicy = Map.groupBy(
    concerns.flatMap(({ policies, text }) => Array.from(policies, (policy) => ({ policy, text }))),
    ({ policy }) => policy,
  );
  return [...byPolicy]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([policy, told]) => ({
      kind: 'TaintPolicy',
      policy,
      reason,
      message: message(
        atMost(
          MAX_NAMED,
          told.map(({ text }) => text),
        ),
      ),
    }));
}
