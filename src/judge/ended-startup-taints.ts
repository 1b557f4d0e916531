import { isPattern } from '../kubernetes/pattern.ts';
import type { Taint } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../policy/compiled-taint-policy.ts';
import { isProtectedBy, protectorsOf } from '../policy/policy-index.ts';
import { isDeclaredTaint, isStartupTaintOf } from './declared-taints.ts';

/** How long startup taints stay after no policy sets them any more, in milliseconds: a policy may be deleted and created again. */
export const POLICY_GONE_MS = 10_000;

/**
 * The policies that protect a startup taint by a key `DOMAIN/*`, after no policy sets the taint any more. Their keys did not match the taint while a
 * policy set it, so no author meant them to keep it.
 *
 * @param enforcing the policies that select the node and are enforced, or would be without `--audit`
 * @returns undefined if the taint stays, because a policy still sets it, or protects it by its exact key. A taint of `ensure: AtRegistration` stays
 *   for the client that removes it
 */
export function domainProtectors(
  enforcing: readonly CompiledTaintPolicy[],
  taint: Taint,
): readonly CompiledTaintPolicy[] | undefined {
  if (isStartupTaintOf(enforcing, taint)) return undefined;
  const protectors = protectorsOf(enforcing, taint);
  return protectors.every((policy) => protectsByDomain(policy, taint)) ? protectors : undefined;
}

function protectsByDomain(policy: CompiledTaintPolicy, taint: Taint): boolean {
  const rule = policy.protectingRule(taint);
  return rule !== undefined && isPattern(rule.key);
}

/** Whether the leader can remove a taint that these policies protect: each of them allows that by an entry of the annotation allow-removal. */
export function allAllowRemovalByAnnotation(protectors: readonly CompiledTaintPolicy[]): boolean {
  return protectors.every(({ allowsRemovalByAnnotation }) => allowsRemovalByAnnotation);
}

/**
 * The taints of `ensure: UntilReady` on a node that no policy sets there any more after a change of its labels or of the policies. The leader removes
 * them {@link POLICY_GONE_MS} later.
 * @param carried the taints that the node carries both before and after the change
 * @param before the enforced policies that selected the node before the change
 * @param after those that select it after the change
 */
export function endedStartupTaints(
  carried: readonly Taint[],
  before: readonly CompiledTaintPolicy[],
  after: readonly CompiledTaintPolicy[],
): Taint[] {
  const removable = before.flatMap(({ untilReady }) => untilReady);
  return carried.filter((taint) => {
    if (!removable.some((one) => isDeclaredTaint(taint, one)) || isProtectedBy(before, taint)) return false;
    const protectors = domainProtectors(after, taint);
    return protectors !== undefined && allAllowRemovalByAnnotation(protectors);
  });
}
