import { LONG_LIST_BUDGET } from '../cel/budget.ts';
import {
  all,
  any,
  bind,
  choose,
  type Expression,
  exists,
  FALSE,
  filtered,
  indented,
  LIST_COST,
  listOf,
  other,
  TRUE,
} from '../cel/expression.ts';
import type { NodePolicy } from './node-policies.ts';
import { SETTLED, settledOf } from './settled.ts';
import {
  ADDED,
  DROPPED,
  hasKeyOf,
  isLastingOrLikeOneOf,
  isLastingOrOneOf,
  lasting,
  NAMES_AFTER,
  NAMES_BEFORE,
  type ProtectingRule,
  TAINTS_CHANGE,
  taintLiteral,
  taintValue,
} from './taints.ts';

/** Things that are wanted where the condition is true. */
export interface Wants {
  readonly condition: Expression;
  /** CEL map literals. */
  readonly items: readonly string[];
}

/**
 * True when the condition on one item, which goes by the name `want`, is true for an item that is wanted. The condition
 * stands in the text once, however many groups there are.
 */
export function anyWanted(groups: readonly Wants[], condition: Expression): Expression {
  const wanting = groups.filter(({ condition: when, items }) => when !== FALSE && items.length > 0);
  const [first] = wanting;
  if (first === undefined) return FALSE;
  if (wanting.length === 1) return all([first.condition, exists(literalList(first.items), 'want', condition)]);

  const texts = wanting.map(({ condition: when, items }) => {
    const list = listOf(items);
    return when === TRUE ? list : `${when.text}\n? ${indented(list)}\n: []`;
  });
  const some = wanting.reduce((sum, { items }) => sum + items.length, 0);
  const cost = wanting.reduce((sum, { condition: when }) => sum + when.cost(0) + 2 * LIST_COST, LIST_COST);
  const inner = exists({ text: 'wants', size: some / wanting.length, cost: 1, uses: [] }, 'want', condition);
  return exists(
    {
      text: `[\n  ${texts.map(indented).join(',\n  ')}\n]`,
      size: wanting.length,
      cost,
      uses: wanting.flatMap(({ condition: when }) => [...when.uses]),
    },
    'wants',
    inner,
  );
}

function literalList(items: readonly string[]) {
  return { text: listOf(items), size: items.length, cost: LIST_COST, uses: [] };
}

/** To compare a taint with a wanted one: keys of the greatest length. */
const COMPARISON_COST = 50;

/** True when the node, with its `taints`, lacks a Present taint of a policy that is for its `labels`. */
export function lacksPresentTaint(policies: readonly NodePolicy[]): Expression {
  const groups = Map.groupBy(policies, ({ nodes }) => nodes);
  const wants = [...groups.values()].map((alike) => ({
    condition: any(alike.slice(0, 1).map(({ selects }) => selects.labels)),
    items: [...new Set(alike.flatMap(presentTaints))].sort(),
  }));
  const lacks = other(
    '!taints.exists(t,\n  t.key == want.key && t.effect == want.effect &&\n' +
      `  (!has(want.value) || want.value == ${taintValue('t')}))`,
    (length) => 5 + length * COMPARISON_COST,
    ['taints'],
  );
  return anyWanted(wants, lacks);
}

function presentTaints({ taints }: NodePolicy): string[] {
  return taints.flatMap(({ ensure, effect, key, value }) =>
    ensure === 'Present' && effect !== undefined
      ? [taintLiteral({ key, ...(value === undefined ? {} : { value }), effect })]
      : [],
  );
}

/** Of a comprehension that keeps items: for each one. */
const FILTER_ITEM_COST = 20;

/** A condition on keys that is looked at for every taint of a long list must stay below this. */
const MAX_KEY_COST = 200;
const MAX_KEY_LENGTH = 8_000;

/** The keys that rules protect. It takes time to write the condition: once for all sizes of lists. */
export interface ProtectedKeys {
  readonly rules: readonly ProtectingRule[];
  /** See {@link keyCondition}. */
  readonly condition: Expression;
}

export function protectedKeys(rules: readonly ProtectingRule[]): ProtectedKeys {
  return { rules, condition: keyCondition(rules) };
}

/** A question about the taints that an update drops or adds. */
interface Question {
  /** In terms of `dropped` and `added`, of `lastingDropped` and `lastingAdded` for keys with a wildcard, and of `settledLastingDropped`. */
  readonly exact: Expression;
  readonly protectedKeys: ProtectedKeys;
  /** How many taints a node may have for the exact question to be asked. */
  readonly size: number;
}

/**
 * True when the update changes taints and the exact question is true of that. On a node with more taints than that, the taints
 * are not compared with each other: it is true when those with a protected key are not the same ones, in the same order;
 * and where even that would cost too much, when any taint has changed.
 */
export function whenTaintsChange({ exact, protectedKeys: { rules, condition: key }, size }: Question): Expression {
  if (exact === FALSE) return FALSE;
  const length = Math.floor(LONG_LIST_BUDGET / (key.cost(0) + FILTER_ITEM_COST));
  const changed = any([
    other(`size(before) + size(after) > ${length}`, 6, ['before', 'after']),
    other(`${filtered('before', 't', key)} !=\n${filtered('after', 't', key)}`, LONG_LIST_BUDGET, ['before', 'after']),
  ]);
  const long = any(['before', 'after'].map((taints) => other(`size(${taints}) > ${size}`, 3, [taints])));
  const lastingDropped = lasting('dropped', rules);
  const variables = [
    NAMES_AFTER,
    DROPPED,
    lastingDropped,
    SETTLED,
    settledOf(lastingDropped.name),
    NAMES_BEFORE,
    ADDED,
    lasting('added', rules),
  ];
  const question = bind(variables, exact);
  // Most updates of a node leave its taints alone, and are done with here.
  return all([TAINTS_CHANGE, choose(long, changed, question)]);
}

/**
 * True for every taint `t` that a rule protects, and never for one that comes and goes by itself unless a rule names it: a
 * node must get rid of its `not-ready` taint while nobody can be asked.
 */
export function keyCondition(rules: readonly ProtectingRule[]): Expression {
  const keys = [...new Set(rules.map(({ key }) => key))].sort();
  const isCheap = ({ cost, text }: Expression) => cost(0) <= MAX_KEY_COST && text.length <= MAX_KEY_LENGTH;
  const exact = hasKeyOf(rules);
  if (isCheap(exact)) return exact;
  const wider = isLastingOrOneOf(keys);
  return isCheap(wider) ? wider : isLastingOrLikeOneOf(keys);
}
