import { isPattern } from '../../kubernetes/pattern.ts';
import { formatTaint } from '../../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { isEnforced, isEnforcedWithoutAudit } from '../../policy/enforcement.ts';
import { enforcedAmong, enforcedPolicies } from '../../policy/policy-index.ts';
import { atMost, count } from '../../text/counts.ts';
import { carriedUntilReady } from '../declared-taints.ts';
import { endedStartupTaints } from '../ended-startup-taints.ts';
import type { NodeView } from '../node-view.ts';
import { startupWarnings } from '../startup-loss-warnings.ts';

// What nodes lose by a change of a policy: the protection of their taints, or the rule that would remove a startup taint.

/** The most nodes that a warning names. */
const MAX_NAMED = 3;

/**
 * Whether the policy, before a change, protected a taint that the node carries.
 * @param node one that the changed policy does not select
 */
export function losesProtection(before: CompiledTaintPolicy, { labels, taints }: NodeView): boolean {
  if (!isEnforced(before) || !before.selectsNode(labels)) return false;
  return taints.some((taint) => before.protectingRule(taint) !== undefined);
}

/**
 * Warnings for the author of a changed policy: on which nodes it no longer protects taints.
 * @param unprotected their names, see {@link losesProtection}
 */
export function protectionWarnings(unprotected: readonly string[]): string[] {
  if (unprotected.length === 0) return [];
  const named = atMost(MAX_NAMED, unprotected).join(', ');
  return [`this policy no longer protects taints on ${count(unprotected.length, 'node')} that it selected: ${named}`];
}

/**
 * Warnings for the author of a changed policy: which nodes wait with its startup taint, which no policy sets there any more.
 * @param waiting their names, see {@link losesStartupRule}
 * @param outcome see {@link startupWarnings}
 */
export function waitingWarnings(waiting: readonly string[], outcome: 'will' | 'may'): string[] {
  const named = atMost(MAX_NAMED, waiting).join(', ');
  return startupWarnings(waiting.length, outcome).map((warning) => `${warning}: ${named}`);
}

/**
 * Whether the node waits with a startup taint of the policy before a change, and loses it.
 * @param before compiled together with the other policies
 * @param after all policies after the change, each in its declared mode: the leader removes startup taints also with `--audit`
 */
export function losesStartupRule(
  before: CompiledTaintPolicy,
  after: readonly CompiledTaintPolicy[],
  { labels, taints }: Pick<NodeView, 'labels' | 'taints'>,
): boolean {
  const waiting = carriedUntilReady(before, taints);
  // A review waits for this check of each node, so a selector is evaluated only if needed.
  if (waiting.length === 0 || !before.selectsNode(labels)) return false;
  return endedStartupTaints(waiting, [before], enforcedPolicies(after, labels)).length > 0;
}

/**
 * Whether nodes may keep startup taints of a deleted policy, because another one sets or protects them. If the deleted policy names no value, nodes may
 * carry any value that another policy names.
 * @param others all policies after the deletion
 */
export function mayKeepStartupTaints(deleted: CompiledTaintPolicy, others: readonly CompiledTaintPolicy[]): boolean {
  const after = enforcedAmong(others);
  const named = after.flatMap(({ startup, protectionRules }) => [
    ...startup.map(({ taint }) => taint),
    ...protectionRules,
  ]);
  const taints = deleted.untilReady.flatMap(({ taint, anyValue }) => {
    const alike = anyValue ? named.filter(({ key }) => key === taint.key || isPattern(key)) : [];
    return [taint, ...alike.map(({ value }) => ({ ...taint, value }))];
  });
  return endedStartupTaints(taints, [deleted], after).length < taints.length;
}

/** Whether a change of a policy may leave nodes with its startup taints: it selects other nodes, or no longer sets all of the taints. */
export function mayLeaveStartupTaints(before: CompiledTaintPolicy, after: CompiledTaintPolicy): boolean {
  const textsOf = (policy: CompiledTaintPolicy, taints: CompiledTaintPolicy['startup']) =>
    isEnforcedWithoutAudit(policy)
      ? taints.map(({ taint }) => JSON.stringify([policy.nodeSelector, formatTaint(taint)]))
      : [];
  const afterwards = new Set(textsOf(after, after.startup));
  return textsOf(before, before.untilReady).some((startupTaint) => !afterwards.has(startupTaint));
}
