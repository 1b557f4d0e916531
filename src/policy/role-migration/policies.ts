import type { SchedulingNode } from '../coverage/coverage.ts';
import type { StringMap } from '../label-selector.ts';
import type { Policy } from '../policy.ts';
import { compilePolicies } from '../policy-set.ts';
import { identity, type Taint } from '../taint.ts';
import { isTransientTaintKey } from '../transient-taints.ts';

/** The names of the TaintPolicies for which a node is another one with other labels: those that it comes under, and those that it leaves. */
export function policiesChangedBy(
  policies: readonly Policy[],
  before: StringMap,
  after: StringMap,
): { readonly entered: readonly string[]; readonly left: readonly string[] } {
  const { taintPolicies } = compilePolicies(policies);
  const changed = taintPolicies.filter((policy) => policy.selectsNode(before) !== policy.selectsNode(after));
  const names = (selecting: boolean) =>
    changed.filter((policy) => policy.selectsNode(after) === selecting).map(({ name }) => name);
  return { entered: names(true), left: names(false) };
}

/** The taints that the controllers set on a node as soon as other labels bring it under policies that want them Present. */
export function taintsSetBy(
  policies: readonly Policy[],
  { labels, taints }: SchedulingNode,
  after: StringMap,
): Taint[] {
  const wanted = compilePolicies(policies)
    .taintPolicies.filter(
      (policy) => policy.mode === 'Restore' && policy.selectsNode(after) && !policy.selectsNode(labels),
    )
    .flatMap(({ present }) => present)
    .filter(({ value: { taint, mayEvict } }) => {
      const isThere = taints.some((other) => identity(other) === identity(taint));
      return !isThere && !isTransientTaintKey(taint.key) && (taint.effect !== 'NoExecute' || mayEvict);
    })
    .map(({ value: { taint } }) => taint);
  return [...new Map(wanted.map((taint) => [identity(taint), taint])).values()];
}
