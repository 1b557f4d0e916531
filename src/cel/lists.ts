import {
  all,
  cel,
  composed,
  type Expression,
  FALSE,
  ITEM_COST,
  LIST_COST,
  literal,
  referenced,
  repeated,
  sumOf,
  TRUE,
  type Variable,
} from './expression.ts';
import { body, indented, LINE_LENGTH, onLine } from './layout.ts';

/** A list literal of strings. */
export function literals(texts: readonly string[]): string {
  return listOf(texts.map(literal));
}

/** A list literal: on one line, or with a line for each item if one line is too long. */
export function listOf(items: readonly string[]): string {
  const line = onLine(items, ', ', LINE_LENGTH - '[]'.length);
  return line === undefined ? `[\n  ${items.map(indented).join(',\n  ')}\n]` : `[${line}]`;
}

/** A map literal of strings. */
export function mapLiteral(fields: Readonly<Record<string, string>>): string {
  return `{${Object.entries(fields)
    .map(([field, text]) => `${literal(field)}: ${literal(text)}`)
    .join(', ')}}`;
}

/** A list without items. */
export const EMPTY: Expression = cel(LIST_COST)`[]`;

/** The cost of a comprehension that makes a list, for each item: a list of one item, and the accesses of the loop. */
export const KEPT_ITEM_COST = 20;

/** A macro over the items of a list, with a condition on each `item`. */
export function overItems(
  macro: 'exists' | 'filter',
  list: Variable | Expression | List,
  item: string,
  condition: Expression,
): Expression {
  const items = 'items' in list ? list.items : referenced(list);
  const length = (size: number) => ('items' in list ? list.size : size);
  const itemCost = macro === 'filter' ? KEPT_ITEM_COST : ITEM_COST;
  return composed(
    [items, condition],
    (size) => items.cost(size) + 1 + length(size) * (condition.cost(size) + itemCost),
    ([of = '', text = '']) => `${of}.${macro}(${item},${body(text, ' ')})`,
  );
}

/** A list with a length of its own, whatever the size of the object. */
export interface List {
  readonly items: Expression;
  /** The maximum number of its items. */
  readonly size: number;
}

/** True if an item of the list fulfils the condition. In the condition, the item has the name `item`. */
export function exists(list: Variable | Expression | List, item: string, condition: Expression): Expression {
  if (condition === FALSE) return FALSE;
  if (condition === TRUE) return cel(2)`size(${'items' in list ? list.items : list}) > 0`;
  return overItems('exists', list, item, condition);
}

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
    when === TRUE
      ? cel(2 * LIST_COST)`${listOf(items)}`
      : cel(2 * LIST_COST)`${when}\n? ${indented(listOf(items))}\n: []`,
  );
  const count = counting.reduce((sum, { items }) => sum + items.length, 0);
  const inner = exists({ items: cel(1)`group`, size: count / counting.length }, 'required', condition);
  const items = composed(lists, sumOf(lists, LIST_COST), (texts) => `[\n  ${texts.map(indented).join(',\n  ')}\n]`);
  return exists({ items, size: counting.length }, 'group', inner);
}

function listed(items: readonly string[]) {
  return { items: cel(LIST_COST)`${listOf(items)}`, size: items.length };
}

/** The items of the list that fulfil the condition. In the condition, an item has the name `t`. */
export function those(list: Variable | Expression, condition: Expression): Expression {
  if (condition === FALSE) return EMPTY;
  if (condition === TRUE) return referenced(list);
  return overItems('filter', list, 't', condition);
}

/** The results for each item `t` of the list. */
export function each(list: Variable | Expression, result: Expression): Expression {
  const items = referenced(list);
  return composed(
    [items, result],
    sumOf([items, repeated((size) => size, result)], (size) => size * KEPT_ITEM_COST),
    ([of = '', text = '']) => {
      const line = `${of}.map(t, ${text})`;
      return line.length > MAP_LENGTH ? `${of}.map(t,\n  ${indented(text)})` : line;
    },
  );
}

const MAP_LENGTH = 90;

/** The items of all the lists. */
export function together(lists: readonly Expression[]): Expression {
  return composed(lists, sumOf(lists, 2 * lists.length), (texts) => texts.join(' +\n'));
}

/** True if the item `t` is in the list. */
export function isIn(list: Variable | Expression): Expression {
  return cel((size) => size + 1)`t in ${list}`;
}

/** True if the list has no items. */
export function isEmpty(list: Variable | Expression): Expression {
  return cel(2)`size(${list}) == 0`;
}
