import { type Expression, FALSE, filtered, LIST_COST, other, TRUE } from './expression.ts';

/** Of a comprehension that makes a list: for each item. */
const ITEM_COST = 20;

/** A list without items. */
export const EMPTY: Expression = other('[]', LIST_COST);

/** The items of the list, a bound name, that fulfil the condition, in which they go by the name `t`. */
export function those(list: string, condition: Expression): Expression {
  if (condition === FALSE) return EMPTY;
  if (condition === TRUE) return other(list, 1, [list]);
  return other(filtered(list, 't', condition), (size) => size * (condition.cost(size) + ITEM_COST) + 1, [
    list,
    ...condition.uses,
  ]);
}

/** What becomes of each item of the list, a bound name. */
export function each(list: string, result: Expression): Expression {
  return other(mapped(list, result.text), (size) => size * (result.cost(size) + ITEM_COST) + 1, [list, ...result.uses]);
}

const LINE_LENGTH = 90;

/** The text of the list with what becomes of each item `t`. */
export function mapped(list: string, result: string): string {
  const line = `${list}.map(t, ${result})`;
  return line.length > LINE_LENGTH ? `${list}.map(t,\n  ${result})` : line;
}

/** The items of all the lists. */
export function together(lists: readonly Expression[]): Expression {
  return other(
    lists.map(({ text }) => text).join(' +\n'),
    (size) => lists.reduce((sum, { cost }) => sum + cost(size) + 2, 0),
    lists.flatMap(({ uses }) => [...uses]),
  );
}

/** True when the item `t` is in the list, a bound name. */
export function isIn(list: string): Expression {
  return other(`t in ${list}`, (size) => size + 2, [list]);
}

/** True when the list, a bound name, has no items. */
export function isEmpty(list: string): Expression {
  return other(`size(${list}) == 0`, 3, [list]);
}
