import { formatTaint, type Taint } from '../kubernetes/taint.ts';
import type { NamedDaemonSet, StartupRules } from './startup-rules.ts';

/** A startup taint that waits for a DaemonSet which does not tolerate it. */
export interface StartupDeadlock {
  /** As kubectl writes it. */
  readonly taint: string;
  /** The names of the TaintPolicies. */
  readonly policies: readonly string[];
}

/** The deadlocks among taints that a DaemonSet does not tolerate. */
export function startupDeadlocks(
  daemonSet: NamedDaemonSet,
  taints: readonly Taint[],
  startup: StartupRules,
): StartupDeadlock[] {
  return taints.flatMap((taint) => {
    const policies = startup.waitingFor(daemonSet, taint);
    return policies.length === 0 ? [] : [{ taint: formatTaint(taint), policies }];
  });
}
