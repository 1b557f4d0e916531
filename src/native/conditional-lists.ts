import {
  cel,
  composed,
  type Expression,
  indented,
  LIST_COST,
  reference,
  TRUE,
  type Variable,
} from '../cel/expression.ts';
import { listOf } from '../cel/lists.ts';

/** An item that is in a list in CEL where the condition is true. */
export interface ConditionalItem {
  readonly condition: Expression;
  readonly item: Expression;
}

/** The items as a list in CEL, those next to each other with the same condition together; none of these twice. */
export function conditionalList(items: readonly ConditionalItem[]): Expression {
  const parts: { condition: Expression; items: Expression[] }[] = [];
  for (const { condition, item } of items) {
    const last = parts.at(-1);
    if (last?.condition.text === condition.text) last.items.push(item);
    else parts.push({ condition, items: [item] });
  }
  const lists = parts.map(({ condition, items: some }) => listWhere(condition, some));
  return composed(
    lists,
    (size) => lists.reduce((sum, { cost }) => sum + cost(size), 0),
    (texts) => (texts.length > 1 ? `(${texts.join(' + ')})` : texts.join('')),
  );
}

function listWhere(condition: Expression, items: readonly Expression[]): Expression {
  const distinct = [...new Map(items.map((item) => [item.text, item])).values()];
  const list = composed(distinct, 0, listOf);
  return condition === TRUE
    ? cel(2 * LIST_COST)`${list}`
    : composed(
        [condition, list],
        (size) => condition.cost(size) + 2 * LIST_COST,
        ([when = '', then = '']) => `(\n  ${indented(when)}\n  ? ${indented(then)}\n  : [])`,
      );
}

/** How many taints one list may be for, and how long its text may get: more would cost the API server too much at once. */
const RANGES_AT_ONCE = 96;
const LENGTH_AT_ONCE = 30_000;

/** Lists in CEL, each under a name. */
export interface NamedLists {
  readonly variables: readonly Variable[];
  readonly names: readonly string[];
}

/** An item of a list that is divided where it gets too long. */
export interface WeighedItem extends ConditionalItem {
  /** For how many ranges it is. */
  readonly ranges: number;
}

/** `PREFIX`, or several of that name with a number: what `write` makes of as many items as the API server can look at at once. */
export function dividedLists<T extends WeighedItem>(
  prefix: string,
  items: readonly T[],
  write: (items: readonly T[]) => Expression,
): NamedLists {
  const chunks: { items: T[]; ranges: number; length: number }[] = [];
  for (const one of items) {
    const { length } = one.item.text;
    const last = chunks.at(-1);
    if (last && last.ranges + one.ranges <= RANGES_AT_ONCE && last.length + length <= LENGTH_AT_ONCE) {
      last.items.push(one);
      last.ranges += one.ranges;
      last.length += length;
    } else {
      chunks.push({ items: [one], ranges: one.ranges, length });
    }
  }
  const variables = chunks.map(({ items: some }, index) => ({
    name: chunks.length === 1 ? prefix : `${prefix}${index + 1}`,
    definition: write(some),
  }));
  return { variables, names: variables.map(({ name }) => name) };
}

/** All items of the lists, at least one: a list in CEL. */
export function joined(names: readonly string[]): Expression {
  return composed(names.map(reference), LIST_COST * names.length, (texts) => texts.join(' + '));
}
