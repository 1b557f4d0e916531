import { cel, choose, type Expression, LIST_COST, MAP_COST, referenced, type Variable } from '../cel/expression.ts';
import { EMPTY, listOf, overItems, together } from '../cel/lists.ts';
import { declaredLiteral } from '../cel-rules/taints.ts';
import { groupsBy } from '../collections/groups-by.ts';
import type { EnsuredTaint } from '../policy/compiled-taint-policy.ts';

/** The taints, as a list of maps. */
export function listOfDeclared(taints: readonly EnsuredTaint[]): Expression {
  return cel(LIST_COST + taints.length * MAP_COST)`${listOf(taints.map(declaredLiteral))}`;
}

/** The taints, as a list of maps, except those for which the condition is true. */
export function declaredUnless(
  taints: readonly EnsuredTaint[],
  isLeftOut: (taint: EnsuredTaint) => Expression,
): Expression {
  const groups = groupsBy(
    taints.map((declared) => ({ declared, leftOut: isLeftOut(declared) })),
    ({ leftOut }) => leftOut.text,
  );
  const lists = groups
    .map((alike) => {
      const [{ leftOut }] = alike;
      return choose(leftOut, EMPTY, listOfDeclared(alike.map(({ declared }) => declared)));
    })
    .filter((list) => list !== EMPTY);
  return lists.length === 0 ? EMPTY : together(lists);
}

/**
 * The taints of the list that fulfil the condition. In the condition, a taint has the name `required`.
 * @param count how many taints the list has
 */
export function declaredThat(list: Variable, condition: Expression, count: number): Expression {
  return overItems('filter', { items: referenced(list), size: count }, 'required', condition);
}
