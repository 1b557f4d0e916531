import {
  cel,
  choose,
  type Expression,
  LIST_COST,
  MAP_COST,
  repeated,
  STRUCT_COST,
  type Variable,
} from '../cel/expression.ts';
import { EMPTY, each, isEmpty, KEPT_ITEM_COST } from '../cel/lists.ts';
import { NAME_WITHOUT_VALUE } from '../cel-rules/taints.ts';

/**
 * The item `t` of `spec.taints` as a map, with empty texts and null for absent fields, which the API server leaves out again. An item itself must not
 * be in a patch: in Kubernetes 1.37, CEL reads objects through Go's reflection, and such values have no JSON form
 * (https://github.com/kubernetes/kubernetes/pull/138771, seen with 1.37.2). A field costs a call, and up to two accesses of two units each.
 */
const WRITTEN_TAINT = cel(MAP_COST + 4 * 12)`{
    "key": dyn(t.key), "value": dyn(has(t.value) ? t.value : ""), "effect": dyn(t.effect),
    "timeAdded": has(t.timeAdded) ? dyn(t.timeAdded) : dyn(null)
  }`;

interface PutTaints {
  /** The names of the taints of the node: see {@link NAME_WITHOUT_VALUE}. */
  readonly ids: Variable;
  readonly variables: readonly Variable[];
  readonly operations: Expression;
}

/** Comparing two names of 335 characters, at a tenth of a unit each. */
const COMPARED_NAMES_COST = 35;

/**
 * JSONPatch operations, in CEL, that add every taint of `put` to a node's `taints`: in place of the taint of the same key and effect,
 * or at the end. {@link withTaints} in CEL. Other expressions must not use the variables earlier.
 */
export function puttingTaints(taints: Variable, put: Variable): PutTaints {
  const ids = idsOf(taints);
  const addedIds = idsOf(put);
  const name = repeated((size) => size, NAME_WITHOUT_VALUE);
  const operation = cel(
    (size) =>
      // For each taint of the node: the search for its name in both lists, and the accesses.
      size * (size * (1 + COMPARED_NAMES_COST) + 2 * KEPT_ITEM_COST) +
      // For each added one: the search for its name.
      size * (size + KEPT_ITEM_COST) +
      // For each taint of both lists: an item of the list in the patch.
      2 * size * KEPT_ITEM_COST +
      STRUCT_COST,
  )`JSONPatch{op: "add", path: "/spec/taints", value:
  (${taints}.map(t, (${name}) in ${addedIds}
    ? ${put}[${addedIds}.indexOf(${name})] : t) +
  ${put}.filter(t, !((${name}) in ${ids}))
  ).map(t, ${repeated((size) => 2 * size, WRITTEN_TAINT)})}`;
  return {
    ids,
    variables: [ids, addedIds],
    operations: choose(isEmpty(put), EMPTY, cel(LIST_COST)`[${operation}]`),
  };
}

function idsOf(list: Variable): Variable {
  return { name: `${list.name}Ids`, definition: each(list, NAME_WITHOUT_VALUE) };
}
