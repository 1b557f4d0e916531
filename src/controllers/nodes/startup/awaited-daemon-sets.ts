import type { CompiledTaintPolicy } from '../../../policy/compiled-taint-policy.ts';
import { isEnforcedWithoutAudit } from '../../../policy/enforcement.ts';
import { mayWaitFor, type ReadyDaemonSet } from '../../../policy/ready-when.ts';

/** Whether a startup taint of the policies may wait for the DaemonSet. */
export function isAwaited(policies: readonly CompiledTaintPolicy[], daemonSet: ReadyDaemonSet): boolean {
  return policies.some(({ untilReady }) => untilReady.some(({ parts }) => mayWaitFor(parts, daemonSet)));
}

/** The DaemonSets that policies name in `readyWhen` and wait for, with `--audit` too. */
export function namedDaemonSets(policies: readonly CompiledTaintPolicy[]): ReadyDaemonSet[] {
  return policies
    .filter(isEnforcedWithoutAudit)
    .flatMap(({ untilReady }) => untilReady.flatMap(({ parts }) => parts.daemonSets));
}
