import { type Expression, not, type Variable } from '../cel/expression.ts';
import { those } from '../cel/lists.ts';
import { ALLOW_REMOVAL_AFTER, ALLOW_REMOVAL_BEFORE } from '../cel-rules/annotations.ts';
import { corrections } from '../cel-rules/corrected-values.ts';
import { conditionsOf } from '../cel-rules/node-policies.ts';
import { isProtected } from '../cel-rules/protected-taints.ts';
import { LABELS, LABELS_BEFORE, REQUESTER_VARIABLES } from '../cel-rules/selection.ts';
import { ADDED, NAMES_AFTER, NAMES_BEFORE, removed, TAINTS_AFTER, TAINTS_BEFORE } from '../cel-rules/taints.ts';
import type { CompiledTaintPolicy } from '../policy/compiled-taint-policy.ts';
import { ALLOWED, ENTRIES } from './allow-removal-entries.ts';
import { named } from './named-condition.ts';

/** A policy, and all policies that are in force, with it. */
export interface AmongPolicies {
  readonly policy: CompiledTaintPolicy;
  readonly among: readonly CompiledTaintPolicy[];
}

/** What the native policies for an update use. */
export interface UpdateVariables {
  /** All of them, in the order of use. */
  readonly variables: readonly Variable[];
  readonly removed: Variable;
  /** The removed taints that the policy protects on a node that it selects, whichever user removes them. */
  readonly protectedTaints: Variable;
  /** True for a requester whom the policy exempts. */
  readonly exempt: Expression;
}

export function updateVariables({ policy, among }: AmongPolicies): UpdateVariables {
  const { variables: corrected, isCorrected } = corrections(among, policy.protectionRules);
  const removedTaints = removed(isCorrected);
  const exempt = named('exempt', not(conditionsOf(policy).notExempt));
  const protectedTaints: Variable = {
    name: 'protected',
    definition: those(removedTaints, isProtected(policy.protectionRules)),
  };
  return {
    variables: [
      TAINTS_BEFORE,
      TAINTS_AFTER,
      LABELS_BEFORE,
      LABELS,
      NAMES_AFTER,
      ...corrected,
      removedTaints,
      NAMES_BEFORE,
      ADDED,
      ...REQUESTER_VARIABLES,
      ALLOW_REMOVAL_BEFORE,
      ALLOW_REMOVAL_AFTER,
      ALLOWED,
      ENTRIES,
      ...exempt.variables,
      protectedTaints,
    ],
    removed: removedTaints,
    protectedTaints,
    exempt: exempt.condition,
  };
}
