import { type Expression, other, type Variable } from '../cel/expression.ts';
import { each } from '../cel/lists.ts';
import { IDENTITY } from '../cel/taint-names.ts';

/**
 * JSONPatch operations, in CEL, that give a node's `taints` every one of those that are `put`, both bound names: in place of the
 * taint of the same key and effect, or at the end; {@link withTaints} in CEL. The variables have to stand before what uses it.
 */
export function puttingTaints(taints: string, put: string): { variables: Variable[]; operation: Expression } {
  const id = IDENTITY.text;
  const before = `${taints}Ids`;
  const wanted = `${put}Ids`;
  return {
    variables: [
      { name: before, definition: each(taints, IDENTITY) },
      { name: wanted, definition: each(put, IDENTITY) },
    ],
    operation: other(
      `JSONPatch{op: "add", path: "/spec/taints", value:
  ${taints}.map(t, (${id}) in ${wanted}
    ? ${put}[${wanted}.indexOf(${id})] : t) +
  ${put}.filter(t, !((${id}) in ${before}))}`,
      (size) => size * (2 * IDENTITY.cost(size) + 40 + size * 36) + size * (IDENTITY.cost(size) + size + 25) + 50,
      [taints, put, before, wanted],
    ),
  };
}
