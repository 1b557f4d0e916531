import { formatTaint, identity, type Taint } from '../kubernetes/taint.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { namesDaemonSet } from '../policy/ready-when.ts';

/** The names of the TaintPolicies whose startup taint waits for a DaemonSet. */
export type PoliciesWaitingFor = (
  daemonSet: { readonly namespace: string; readonly name: string },
  taint: Taint,
) => string[];

/** For callers that know no policies. */
export const NO_POLICY_WAITS: PoliciesWaitingFor = () => [];

/** Policies in mode Audit do not count: they set no startup taint. With `--audit`, the taints that others have set still wait. */
export function policiesWaitingFor(policies: readonly CompiledTaintPolicy[]): PoliciesWaitingFor {
  const waiting = policies
    .filter(({ declared }) => declared !== 'Audit')
    .flatMap(({ name: policy, untilReady }) => untilReady.map(({ value }) => ({ policy, ...value })));
  return (daemonSet, taint) =>
    waiting
      .filter(
        ({ taint: own, parts }) => identity(own) === identity(taint) && namesDaemonSet(parts.daemonSets, daemonSet),
      )
      .map(({ policy }) => policy);
}

/**
 * Whether a taint that a DaemonSet does not tolerate goes away by itself. A startup taint that waits for this DaemonSet does not: neither the taint
 * is removed nor the DaemonSet started before the other.
 */
export function passesBy(
  daemonSet: Parameters<PoliciesWaitingFor>[0],
  taint: Taint,
  waits: PoliciesWaitingFor,
): boolean {
  return isTransientTaintKey(taint.key) && waits(daemonSet, taint).length === 0;
}

/** A startup taint that waits for a DaemonSet which does not tolerate it. */
export interface StartupDeadlock {
  /** As kubectl writes it. */
  readonly taint: string;
  /** The names of the TaintPolicies. */
  readonly policies: readonly string[];
}

/** The deadlocks among taints that a DaemonSet does not tolerate. */
export function startupDeadlocks(
  daemonSet: Parameters<PoliciesWaitingFor>[0],
  taints: readonly Taint[],
  waits: PoliciesWaitingFor,
): StartupDeadlock[] {
  return taints.flatMap((taint) => {
    const policies = waits(daemonSet, taint);
    return policies.length === 0 ? [] : [{ taint: formatTaint(taint), policies }];
  });
}
