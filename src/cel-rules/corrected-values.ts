import { all, any, type Expression, FALSE, type Variable } from '../cel/expression.ts';
import { each, those } from '../cel/lists.ts';
import type { Taint } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../policy/compiled-taint-policy.ts';
import { isEnforcedWithoutAudit } from '../policy/enforcement.ts';
import { type CompiledTaintRule, compileRules } from '../policy/taint-rule.ts';
import { conditionsOf } from './node-policies.ts';
import { among, EXACT_NAME, exactName, isOneOfNames, NAME_WITHOUT_VALUE, TAINTS_AFTER } from './taints.ts';

/** A change of a value to the one that a policy requires: see {@link isReplaced}. */
export interface Corrections {
  readonly variables: readonly Variable[];
  /** True for a removed taint `t` whose value changes to the required one. FALSE if there are none. */
  readonly isCorrected: Expression;
}

export const NO_CORRECTIONS: Corrections = { variables: [], isCorrected: FALSE };

/**
 * The corrections of values that some rule would forbid. Nearly always there are none: it takes a policy that requires a value, and a rule that protects
 * another value of the same taint.
 *
 * @param policies all policies, whichever mode
 * @param rules those that protect taints
 */
export function corrections(
  policies: readonly CompiledTaintPolicy[],
  rules: readonly CompiledTaintRule[],
): Corrections {
  const protectsOtherValue = otherValuesOf(rules);
  const requiring = policies.flatMap((policy) => {
    if (!isEnforcedWithoutAudit(policy)) return [];
    const taints = policy.required.filter(({ anyValue }) => !anyValue).map(({ taint }) => taint);
    const names = taints.filter(protectsOtherValue).map(exactName);
    return names.length === 0 ? [] : [{ policy, names }];
  });
  if (requiring.length === 0) return NO_CORRECTIONS;
  const groups = Map.groupBy(requiring, ({ policy }) => conditionsOf(policy).nodes);
  const isRequired = any(
    [...groups.values()].map((alike) => {
      const isNamed = isOneOfNames(
        EXACT_NAME,
        alike.flatMap(({ names }) => names),
      );
      return all([isNamed, ...alike.map(({ policy }) => conditionsOf(policy).selects.after)]);
    }),
  );
  // The taints that the node carries after the update with a value that a policy requires.
  const corrected: Variable = { name: 'corrected', definition: those(TAINTS_AFTER, isRequired) };
  const correctedIds: Variable = { name: 'correctedIds', definition: each(corrected, NAME_WITHOUT_VALUE) };
  return { variables: [corrected, correctedIds], isCorrected: among(NAME_WITHOUT_VALUE, correctedIds) };
}

/** Whether one of the rules matches the key and effect of a taint with another value than its own. */
function otherValuesOf(rules: readonly CompiledTaintRule[]): (taint: Taint) => boolean {
  const compiled = rules.map(({ value, ...rule }) => ({ value, ruleFor: compileRules([rule]) }));
  return (taint) =>
    compiled.some(({ value, ruleFor }) => value !== (taint.value ?? '') && ruleFor(taint) !== undefined);
}
