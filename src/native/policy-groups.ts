import { all, any, type Expression, not, TRUE, type Variable } from '../cel/expression.ts';
import { isIn } from '../cel/lists.ts';
import { conditionsOf, rulesOf, selectsBeforeOrAfter } from '../cel-rules/node-policies.ts';
import { isProtected, isTransientByName } from '../cel-rules/protected-taints.ts';
import { groupsBy } from '../collections/groups-by.ts';
import type { CompiledTaintPolicy } from '../policy/compiled-taint-policy.ts';
import type { CompiledTaintRule } from '../policy/taint-rule.ts';
import { type NamedCondition, named } from './named-condition.ts';

/** Policies of one mode that select the same nodes, exempt the same requesters, and have the same removalByAnnotation. */
export interface PolicyGroup {
  readonly mode: CompiledTaintPolicy['mode'];
  readonly allowsRemovalByAnnotation: boolean;
  /** True for an update of a node that they select, by a user whom they do not exempt. */
  readonly binds: NamedCondition;
  readonly rules: readonly CompiledTaintRule[];
}

/** The policies in groups, each with one condition. */
export function policyGroups(policies: readonly CompiledTaintPolicy[]): PolicyGroup[] {
  const groups = groupsBy(policies, (policy) => {
    const { nodes, exempt } = conditionsOf(policy);
    return JSON.stringify([policy.mode, policy.allowsRemovalByAnnotation, nodes, exempt]);
  });
  return groups.map((alike, index) => {
    const [first] = alike;
    const binds = all([selectsBeforeOrAfter(first), conditionsOf(first).notExempt]);
    // Evaluated once, and not for each taint. The name is for the reader, and the number distinguishes equal names.
    const name = `binds${index + 1}_${first.name.replace(/[^a-z0-9]/g, '_')}`;
    return {
      mode: first.mode,
      allowsRemovalByAnnotation: first.allowsRemovalByAnnotation,
      binds: named(name, binds),
      rules: rulesOf(alike),
    };
  });
}

/**
 * True for a taint `t` that one of the groups keeps: it does not exempt the requester, and does not allow the removal.
 *
 * @param protecting the rules by which another policy protects the taint
 * @param allowed the taints whose removal the annotation allows
 */
export function isProtectedByOthers(
  groups: readonly PolicyGroup[],
  protecting: readonly CompiledTaintRule[],
  allowed: Variable,
): Expression {
  // A taint that the policy protects by a pattern is none that Kubernetes, autoscalers or operators set and remove.
  const transient = isTransientByName(protecting);
  return any(
    groups.map(({ binds, rules, allowsRemovalByAnnotation }) =>
      all([binds.condition, isProtected(rules, transient), allowsRemovalByAnnotation ? not(isIn(allowed)) : TRUE]),
    ),
  );
}
