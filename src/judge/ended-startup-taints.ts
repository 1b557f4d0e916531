import { formatTaint, type Taint } from '../kubernetes/taint.ts';
import { count, shellWord } from '../kubernetes/text.ts';
import { isProtectedBy } from '../policy/policy-index.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { isRequiredTaint, isStartupTaintOf } from './declared-taints.ts';
import type { NodeView } from './node-view.ts';

/** A policy that is deleted and created again within this time changes nothing. In milliseconds. */
export const POLICY_GONE_MS = 10_000;

/**
 * The taints that policies set on a node until it is ready, and that none sets there when it registers after a change of its labels or of the policies.
 * The leader removes them {@link POLICY_GONE_MS} later. One of `ensure: AtRegistration` stays for the client that removes it.
 * @param carried the taints of the node, before the change and after it
 * @param before the enforced policies that selected the node before the change
 * @param after those that select it after the change
 */
export function endedStartupTaints(
  carried: readonly Taint[],
  before: readonly CompiledTaintPolicy[],
  after: readonly CompiledTaintPolicy[],
): Taint[] {
  const awaited = before.flatMap(({ untilReady }) => untilReady.map(({ value }) => value));
  return carried.filter(
    (taint) =>
      awaited.some((one) => isRequiredTaint(taint, one)) &&
      !isStartupTaintOf(after, taint) &&
      !isProtectedBy(before, taint) &&
      !isProtectedBy(after, taint),
  );
}

/**
 * Warnings by the number of nodes that wait with a startup taint of a policy: they `will` lose it if the policy is deleted, and `may` lose it if
 * another policy may keep it, or the policy is changed.
 */
export function startupWarnings(waiting: number, outcome: 'will' | 'may'): string[] {
  return waiting === 0 ? [] : [lossText(waiting, outcome, 'the startup taint of this policy')];
}

/**
 * Warnings for a user who changes the labels of a node that waits, so that no policy has its startup taints any more. A new leader does not know whose
 * such a taint is, and leaves it on the node.
 * @param ended see {@link endedStartupTaints}
 */
export function relabelWarnings({ name }: Pick<NodeView, 'name'>, ended: readonly Taint[]): string[] {
  return ended.flatMap((taint) => {
    const text = formatTaint(taint);
    return [
      `${lossText(1, 'will', `startup taint ${text}`)}: ${name}`,
      `if it stays: kubectl taint node ${shellWord(name)} ${shellWord(`${text}-`)}`,
    ];
  });
}

function lossText(waiting: number, outcome: 'will' | 'may', what: string): string {
  const nodes = `${count(waiting, 'node')} still ${waiting === 1 ? 'waits' : 'wait'}`;
  return `${nodes}, and ${outcome} lose ${what} in ${POLICY_GONE_MS / 1_000} seconds`;
}
