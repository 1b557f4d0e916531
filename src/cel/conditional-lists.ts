import { cel, composed, type Expression, LIST_COST, referenced, sumOf, TRUE, type Variable } from './expression.ts';
import { indented } from './layout.ts';
import { listOf } from './lists.ts';

/** An item that is in a list in CEL where the condition is true. */
export interface ConditionalItem {
  readonly condition: Expression;
  readonly item: Expression;
}

/** The items as a list in CEL. Neighbours with the same condition are joined, and no item occurs twice. */
export function conditionalList(items: readonly ConditionalItem[]): Expression {
  const parts: { condition: Expression; items: Expression[] }[] = [];
  for (const { condition, item } of items) {
    const last = parts.at(-1);
    if (last?.condition.text === condition.text) last.items.push(item);
    else parts.push({ condition, items: [item] });
  }
  const lists = parts.map(({ condition, items: some }) => listWhere(condition, some));
  return composed(lists, sumOf(lists, 0), (texts) => (texts.length > 1 ? `(${texts.join(' + ')})` : texts.join('')));
}

function listWhere(condition: Expression, items: readonly Expression[]): Expression {
  const distinct = [...new Map(items.map((item) => [item.text, item])).values()];
  const list = composed(distinct, sumOf(distinct, 0), listOf);
  return condition === TRUE
    ? cel(2 * LIST_COST)`${list}`
    : composed(
        [condition, list],
        sumOf([condition, list], 2 * LIST_COST),
        ([when = '', then = '']) => `(\n  ${indented(when)}\n  ? ${indented(then)}\n  : [])`,
      );
}

/** The maximum weight of the items of one list, and the maximum length of its text: more would exceed the API server's cost limit. */
const WEIGHT_AT_ONCE = 96;
const LENGTH_AT_ONCE = 30_000;

/** An item of a list that is divided if it is too long. */
export interface WeighedItem extends ConditionalItem {
  /** How much the item adds to the cost of a list, compared with other items. */
  readonly weight: number;
}

/** `PREFIX`, or several of that name with a number: the result of `write` for as many items as the API server can evaluate at once. */
export function dividedLists<T extends WeighedItem>(
  prefix: string,
  items: readonly T[],
  write: (items: readonly T[]) => Expression,
): Variable[] {
  const chunks: { items: T[]; weight: number; length: number }[] = [];
  for (const weighed of items) {
    const { length } = weighed.item.text;
    const last = chunks.at(-1);
    if (last && last.weight + weighed.weight <= WEIGHT_AT_ONCE && last.length + length <= LENGTH_AT_ONCE) {
      last.items.push(weighed);
      last.weight += weighed.weight;
      last.length += length;
    } else {
      chunks.push({ items: [weighed], weight: weighed.weight, length });
    }
  }
  return chunks.map(({ items: some }, index) => ({
    name: chunks.length === 1 ? prefix : `${prefix}${index + 1}`,
    definition: write(some),
  }));
}

/** All items of the lists, at least one: a list in CEL. */
export function joined(lists: readonly Variable[]): Expression {
  const references = lists.map(referenced);
  return composed(references, sumOf(references, LIST_COST * lists.length), (texts) => texts.join(' + '));
}
