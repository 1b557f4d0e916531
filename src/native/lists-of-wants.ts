import { type Expression, indented, LIST_COST, listOf, not, other, TRUE, type Variable } from '../cel/expression.ts';
import { notTolerated, rangeLiteral } from '../conditions/tolerations.ts';
import { type NativeNeed, type NeededRange, untoleratedRanges } from './wanted-tolerations.ts';

/** A part of a list in CEL that is there where the condition is true. */
export interface Piece {
  readonly condition: Expression;
  readonly item: string;
}

/** The pieces as a list in CEL, those next to each other with the same condition together; none of these twice. */
export function listIn(pieces: readonly Piece[]): Expression {
  const parts: { condition: Expression; items: string[] }[] = [];
  for (const { condition, item } of pieces) {
    const last = parts.at(-1);
    if (last?.condition.text === condition.text) last.items.push(item);
    else parts.push({ condition, items: [item] });
  }
  const texts = parts.map(({ condition, items }) => {
    const list = listOf([...new Set(items)]);
    return condition === TRUE ? list : `(\n  ${indented(condition.text)}\n  ? ${indented(list)}\n  : [])`;
  });
  return other(
    texts.length > 1 ? `(${texts.join(' + ')})` : texts.join(''),
    (size) => parts.reduce((sum, { condition }) => sum + condition.cost(size) + 2 * LIST_COST, 0),
    parts.flatMap(({ condition }) => [...condition.uses]),
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

/** A piece of a list that is taken apart where it gets too long. */
export interface WeighedPiece extends Piece {
  /** For how many ranges it is. */
  readonly ranges: number;
}

/** `PREFIX`, or several of that name with a number: what `write` makes of as many pieces as the API server can look at at once. */
export function inLists<T extends WeighedPiece>(
  prefix: string,
  pieces: readonly T[],
  write: (pieces: readonly T[]) => Expression,
): NamedLists {
  const chunks: { pieces: T[]; ranges: number; length: number }[] = [];
  for (const piece of pieces) {
    const { length } = piece.item;
    const last = chunks.at(-1);
    if (last && last.ranges + piece.ranges <= RANGES_AT_ONCE && last.length + length <= LENGTH_AT_ONCE) {
      last.pieces.push(piece);
      last.ranges += piece.ranges;
      last.length += length;
    } else {
      chunks.push({ pieces: [piece], ranges: piece.ranges, length });
    }
  }
  const variables = chunks.map(({ pieces: some }, index) => ({
    name: chunks.length === 1 ? prefix : `${prefix}${index + 1}`,
    definition: write(some),
  }));
  return { variables, names: variables.map(({ name }) => name) };
}

/** All items of the lists, at least one: a list in CEL. */
export function inAll(names: readonly string[]): Expression {
  return other(names.join(' + '), LIST_COST * names.length, names);
}

/** How an item of a list of wants is written, and what is made of it once it goes by the name `need`. */
export interface ItemForm {
  readonly write: (need: NativeNeed) => string;
  /** Of `need.wanted`, which is of dynamic type. */
  readonly read: string;
}

/** `PREFIX`: of the tolerations that are needed, those that the DaemonSet lacks. */
export function lackedLists(prefix: string, needs: readonly NativeNeed[], { write, read }: ItemForm): NamedLists {
  const pieces = needs.flatMap((need) => {
    const ranges = untoleratedRanges(need);
    if (ranges.length === 0) return [];
    const { text, uses } = rangesLiteral(ranges);
    const item = `{"wanted": dyn(${write(need)}), "ranges": dyn(${text})}`;
    return [{ condition: need.want.condition, item, ranges: ranges.length, uses }];
  });
  const isLacking = notTolerated({ dynamic: true });
  return inLists(prefix, pieces, (some) => {
    const list = listIn(some);
    const ranges = some.reduce((sum, piece) => sum + piece.ranges, 0);
    return other(
      `${list.text}.filter(need, need.ranges.exists(want,\n  ${indented(isLacking.text)})).map(need, ${read})`,
      (size) => list.cost(size) + ranges * (isLacking.cost(size) + 30) + some.length * 40,
      [...list.uses, ...some.flatMap(({ uses }) => [...uses]), ...isLacking.uses],
    );
  });
}

function rangesLiteral(ranges: readonly NeededRange[]): Expression {
  return listIn(ranges.map(({ range, unless }) => ({ condition: not(unless), item: rangeLiteral(range) })));
}
