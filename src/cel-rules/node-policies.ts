import { all, any, cel, type Expression, not, referenced } from '../cel/expression.ts';
import { groupsBy } from '../collections/groups-by.ts';
import { oncePer } from '../collections/once-per.ts';
import type { CompiledTaintPolicy } from '../policy/compiled-taint-policy.ts';
import type { CompiledTaintRule } from '../policy/taint-rule.ts';
import { removesProtectedBy } from './protected-taints.ts';
import { beforeOrAfter, isRequesterAmong, LABELS, LABELS_BEFORE, selectsIn } from './selection.ts';

/** The conditions of a policy that many expressions use. */
interface PolicyConditions {
  /** Equal for policies that select the same nodes. */
  readonly nodes: string;
  /** Equal for policies that exempt the same requesters. */
  readonly exempt: string;
  /** True if the policy selects a node with these labels: before an update, after it, and for the item `l` of a list of both. */
  readonly selects: Readonly<Record<'before' | 'after' | 'item', Expression>>;
  /** True if it does not exempt the requester. */
  readonly notExempt: Expression;
}

/** They may be long: written once for each policy. */
export const conditionsOf = oncePer(
  ({ nodeSelector, exempt }: CompiledTaintPolicy): PolicyConditions => ({
    nodes: JSON.stringify([nodeSelector]),
    exempt: JSON.stringify(exempt),
    selects: selection(nodeSelector),
    notExempt: not(isRequesterAmong(exempt)),
  }),
);

function selection(selector: CompiledTaintPolicy['nodeSelector']): PolicyConditions['selects'] {
  return {
    before: selectsIn(referenced(LABELS_BEFORE), selector),
    after: selectsIn(referenced(LABELS), selector),
    item: selectsIn(cel(1)`l`, selector),
  };
}

/** All are true for an update that makes the policy select the node. */
export function beginsToSelect(policy: CompiledTaintPolicy): Expression[] {
  const { before, after } = conditionsOf(policy).selects;
  return [not(before), after];
}

/** By the labels before or after the update: a node cannot leave a policy in the update that removes the taint. */
export function selectsBeforeOrAfter(policy: CompiledTaintPolicy): Expression {
  return beforeOrAfter(conditionsOf(policy).selects.item);
}

/** True for one of the policies. Policies with the same nodes, and by default the same exemptions, share one condition. */
export function anyPolicy(
  policies: readonly CompiledTaintPolicy[],
  condition: (policy: CompiledTaintPolicy, rules: readonly CompiledTaintRule[]) => Expression,
  {
    ignoresExemptions = false,
  }: { /** Also for a requester whom the policy exempts. */ readonly ignoresExemptions?: boolean } = {},
): Expression {
  const groups = groupsBy(policies, (policy) => {
    const { nodes, exempt } = conditionsOf(policy);
    return ignoresExemptions ? nodes : nodes + exempt;
  });
  return any(groups.map((alike) => condition(alike[0], rulesOf(alike))));
}

/** True if a policy protects one of the removed taints, whichever user removes it. */
export function removesProtected(policies: readonly CompiledTaintPolicy[]): Expression {
  return anyPolicy(policies, (policy, rules) => all([removesProtectedBy(rules), selectsBeforeOrAfter(policy)]), {
    ignoresExemptions: true,
  });
}

/** The same, without policies that exempt the requester. */
export function removesProtectedUnlessExempt(policies: readonly CompiledTaintPolicy[]): Expression {
  return anyPolicy(policies, (policy, rules) =>
    all([removesProtectedBy(rules), selectsBeforeOrAfter(policy), conditionsOf(policy).notExempt]),
  );
}

/** The rules of the policies that protect taints. */
export function rulesOf(policies: readonly CompiledTaintPolicy[]): CompiledTaintRule[] {
  return policies.flatMap(({ protectionRules }) => protectionRules);
}
