import { LONG_LIST_BUDGET } from '../cel/budget.ts';
import {
  all,
  any,
  bind,
  cel,
  choose,
  composed,
  type Expression,
  FALSE,
  LIST_COST,
  reference,
  TRUE,
  type Variable,
} from '../cel/expression.ts';
import { indented } from '../cel/layout.ts';
import { exists, listOf, overItems } from '../cel/lists.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { CompiledTaintRule } from '../policy/taint-rule.ts';
import { conditionsOf } from './node-policies.ts';
import { keyCondition, lasting } from './protected-taints.ts';
import { ADDITIONS } from './restricted-additions.ts';
import {
  ADDED,
  LACKS_REQUIRED,
  NAMES_AFTER,
  NAMES_BEFORE,
  presentLiteral,
  REMOVED,
  TAINTS_AFTER,
  TAINTS_BEFORE,
  TAINTS_CHANGE,
} from './taints.ts';

/** Items that count if the condition is true. */
export interface ConditionalItems {
  readonly condition: Expression;
  /** CEL map literals. */
  readonly items: readonly string[];
}

/**
 * True if the condition on one item, named `required`, is true for an item that counts. The text contains the condition once,
 * for any number of groups.
 */
export function existsAmong(groups: readonly ConditionalItems[], condition: Expression): Expression {
  const counting = groups.filter(({ condition: when, items }) => when !== FALSE && items.length > 0);
  const [first] = counting;
  if (first === undefined) return FALSE;
  if (counting.length === 1) return all([first.condition, exists(listed(first.items), 'required', condition)]);

  const lists = counting.map(({ condition: when, items }) =>
    when === TRUE ? cel(LIST_COST)`${listOf(items)}` : cel(0)`${when}\n? ${indented(listOf(items))}\n: []`,
  );
  const count = counting.reduce((sum, { items }) => sum + items.length, 0);
  const cost = counting.reduce((sum, { condition: when }) => sum + when.cost(0) + 2 * LIST_COST, LIST_COST);
  const inner = exists({ items: cel(1)`group`, size: count / counting.length }, 'required', condition);
  const items = composed(lists, cost, (texts) => `[\n  ${texts.map(indented).join(',\n  ')}\n]`);
  return exists({ items, size: counting.length }, 'group', inner);
}

function listed(items: readonly string[]) {
  return { items: cel(LIST_COST)`${listOf(items)}`, size: items.length };
}

/** True if the new node, with its `taints`, lacks a required or a startup taint of a policy that selects its labels. */
export function lacksPresentTaint(policies: readonly CompiledTaintPolicy[]): Expression {
  const groups = Map.groupBy(policies, (policy) => conditionsOf(policy).nodes);
  const required = [...groups.values()].map((alike) => ({
    condition: any(alike.slice(0, 1).map((policy) => conditionsOf(policy).selects.after)),
    items: [...new Set(alike.flatMap(({ ensured }) => ensured.map(({ value }) => presentLiteral(value))))].sort(),
  }));
  return existsAmong(required, LACKS_REQUIRED);
}

/** Cost of a comprehension that keeps items, for each item. */
const FILTER_ITEM_COST = 20;

/** The keys of protected and restricted taints. The condition is expensive to write, so it is written once for all sizes of lists. */
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
  /**
   * In terms of `removed`, `added` and `additions`, and for patterns of `lastingRemoved`, `lastingAdded` and `lastingAdditions`.
   */
  readonly exact: Expression;
  /** The definition of `additions`: see {@link additionVariables}. */
  readonly additions?: readonly Variable[];
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
    protectedKeys: { rules, condition: key },
    additions = [],
    size,
  } = question;
  if (exact === FALSE) return FALSE;
  const length = Math.floor(LONG_LIST_BUDGET / (key.cost(0) + FILTER_ITEM_COST));
  const withKey = ({ name }: Variable) => overItems('filter', reference(name), 't', key, () => LONG_LIST_BUDGET / 2);
  const changed = any([
    cel(6)`size(${TAINTS_BEFORE}) + size(${TAINTS_AFTER}) > ${length}`,
    cel(LONG_LIST_BUDGET)`${withKey(TAINTS_BEFORE)} !=\n${withKey(TAINTS_AFTER)}`,
  ]);
  const long = any([TAINTS_BEFORE, TAINTS_AFTER].map((taints) => cel(3)`size(${taints}) > ${size}`));
  const variables = [
    NAMES_AFTER,
    REMOVED,
    lasting(REMOVED.name, rules),
    NAMES_BEFORE,
    ADDED,
    lasting(ADDED.name, rules),
    ...additions,
    lasting(ADDITIONS, rules),
  ];
  // Most updates of a node do not change its taints, and end here.
  return all([TAINTS_CHANGE, choose(long, changed, bind(variables, exact))]);
}
