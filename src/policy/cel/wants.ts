import { all, type Expression, exists, FALSE, indented, LIST_COST, listOf, TRUE } from './expression.ts';

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
