import type { PolicyObject } from '../../cluster/policies/policy-object.ts';
import { conditionOf } from '../../policy/reporting/policy-status.ts';
import type { DaemonSetProblem } from './patch-problems.ts';
import { titleOf } from './running-daemon-set.ts';

/** The problems that an earlier leader has reported. */
export interface EarlierProblems {
  /** Whether an earlier leader has reported this problem. The result is true once: if the problem returns, it is new. */
  take(problem: DaemonSetProblem): boolean;
}

/**
 * Reads the condition `Stalled` of the policies. It names a limited number of problems. The others count as new.
 * @param policies at the start of the leader, whose first status replaces the condition
 */
export function earlierProblems(policies: readonly PolicyObject[]): EarlierProblems {
  const messages = new Map<string, string>();
  for (const { kind, name, status } of policies) {
    const stalled = conditionOf(status, 'Stalled');
    if (kind === 'TolerationPolicy' && stalled) messages.set(name, stalled.message);
  }
  const taken = new Set<string>();
  return {
    take({ policy, daemonSet, note }) {
      const text = `${titleOf(daemonSet)} ${note}`;
      const key = `${policy}: ${text}`;
      if (taken.has(key) || !messages.get(policy)?.includes(text)) return false;
      taken.add(key);
      return true;
    },
  };
}
