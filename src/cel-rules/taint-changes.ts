import { LONG_LIST_BUDGET } from '../cel/budget.ts';
import { all, any, bind, cel, choose, type Expression, FALSE, referenced, type Variable } from '../cel/expression.ts';
import { existsAmong, KEPT_ITEM_COST, overItems } from '../cel/lists.ts';
import type { CompiledTaintPolicy, EnsuredTaint } from '../policy/compiled-taint-policy.ts';
import type { CompiledTaintRule } from '../policy/taint-rule.ts';
import type { Corrections } from './corrected-values.ts';
import { beginsToSelect, conditionsOf } from './node-policies.ts';
import { keyCondition, lastingRemoved } from './protected-taints.ts';
import {
  ADDED,
  declaredLiteral,
  lacksDeclared,
  NAMES_AFTER,
  NAMES_BEFORE,
  removed,
  TAINTS,
  TAINTS_AFTER,
  TAINTS_BEFORE,
  TAINTS_CHANGE,
} from './taints.ts';

/** True if the new node, with its `taints`, lacks a required or a startup taint of a policy that selects its labels. */
export function lacksDeclaredTaint(policies: readonly CompiledTaintPolicy[]): Expression {
  return lacksTaintOf(
    policies,
    TAINTS,
    ({ ensured }) => ensured,
    (policy) => conditionsOf(policy).selects.after,
  );
}

/**
 * True if the update makes a policy select a node that lacks a required taint of it. A taint that would evict the pods of the node does not count: it is
 * set when a node registers.
 */
export function lacksTaintOnSelection(policies: readonly CompiledTaintPolicy[]): Expression {
  return lacksTaintOf(policies, TAINTS_AFTER, settableOnSelection, (policy) => all(beginsToSelect(policy)));
}

/** The required taints that a running node gets when the policy begins to select it. */
export function settableOnSelection({ required }: CompiledTaintPolicy): readonly EnsuredTaint[] {
  return required.filter(({ taint }) => taint.effect !== 'NoExecute');
}

function lacksTaintOf(
  policies: readonly CompiledTaintPolicy[],
  taints: Variable,
  declaredBy: (policy: CompiledTaintPolicy) => readonly EnsuredTaint[],
  when: (policy: CompiledTaintPolicy) => Expression,
): Expression {
  const groups = Map.groupBy(policies, (policy) => conditionsOf(policy).nodes);
  const declared = [...groups.values()].map((alike) => ({
    condition: any(alike.map(when)),
    items: [...new Set(alike.flatMap((policy) => declaredBy(policy).map(declaredLiteral)))].sort(),
  }));
  return existsAmong(declared, lacksDeclared(taints));
}

/** The keys of protected taints. The condition is expensive to write, so it is written once for all sizes of lists. */
export interface ProtectedKeys {
  readonly rules: readonly CompiledTaintRule[];
  /** See {@link keyCondition}. */
  readonly condition: Expression;
}

export function protectedKeys(rules: readonly CompiledTaintRule[]): ProtectedKeys {
  return { rules, condition: keyCondition(rules) };
}

/** A question about the taints that an update removes or adds. */
interface Question {
  /** In terms of `removed` and `added`, and for patterns of `lastingRemoved`. */
  readonly exact: Expression;
  readonly corrections: Corrections;
  readonly protectedKeys: ProtectedKeys;
  /** The number of taints on a node up to which the exact question is asked. */
  readonly size: number;
}

/**
 * True if the update changes taints and the exact question is true. On a node with more taints, they are not compared with each other. The condition
 * is then true if the taints with a protected key differ, or their order does. If even that costs too much, it is true if any taint has changed.
 */
export function whenTaintsChange(question: Question): Expression {
  const {
    exact,
    corrections: { variables: corrected, isCorrected },
    protectedKeys: { rules, condition: key },
    size,
  } = question;
  if (exact === FALSE) return FALSE;
  const length = Math.floor(LONG_LIST_BUDGET / (key.cost(0) + KEPT_ITEM_COST));
  // Together they have at most `length` items.
  const withKey = (taints: Variable) => overItems('filter', { items: referenced(taints), size: length / 2 }, 't', key);
  const changed = any([
    cel(4)`size(${TAINTS_BEFORE}) + size(${TAINTS_AFTER}) > ${length}`,
    cel(1)`${withKey(TAINTS_BEFORE)} !=\n${withKey(TAINTS_AFTER)}`,
  ]);
  const long = any([TAINTS_BEFORE, TAINTS_AFTER].map((taints) => cel(2)`size(${taints}) > ${size}`));
  const taintsOnlyIn = removed(isCorrected);
  const variables = [NAMES_AFTER, ...corrected, taintsOnlyIn, lastingRemoved(rules), NAMES_BEFORE, ADDED];
  // Most updates of a node do not change its taints, and end here.
  return all([TAINTS_CHANGE, choose(long, changed, bind(variables, exact))]);
}
