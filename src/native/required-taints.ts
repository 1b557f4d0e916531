import { cel, choose, type Expression, FALSE, LIST_COST, MAP_COST, reference } from '../cel/expression.ts';
import { EMPTY, listOf, overItems, together } from '../cel/lists.ts';
import { declaredLiteral } from '../cel-rules/taints.ts';
import type { EnsuredTaint } from '../policy/policy-set.ts';

/** The taints, as a list of maps. */
export function listOfRequired(taints: readonly EnsuredTaint[]): Expression {
  return cel(LIST_COST + taints.length * MAP_COST)`${listOf(taints.map(declaredLiteral))}`;
}

/** The taints, as a list of maps, except those for which the condition is true. */
export function requiredUnless(
  taints: readonly EnsuredTaint[],
  isLeftOut: (taint: EnsuredTaint) => Expression,
): Expression {
  const groups = Map.groupBy(
    taints.map((required) => ({ required, leftOut: isLeftOut(required) })),
    ({ leftOut }) => leftOut.text,
  );
  const lists = [...groups.values()]
    .map((alike) => {
      const [{ leftOut } = { leftOut: FALSE }] = alike;
      return choose(leftOut, EMPTY, listOfRequired(alike.map(({ required }) => required)));
    })
    .filter((list) => list !== EMPTY);
  return lists.length === 0 ? EMPTY : together(lists);
}

/**
 * The taints of the variable `required` that fulfil the condition. In the condition, a taint has the name `required`.
 * @param count how many taints the variable has
 */
export function requiredThat(condition: Expression, count: number): Expression {
  return overItems('filter', { items: reference('required'), size: count }, 'required', condition);
}
