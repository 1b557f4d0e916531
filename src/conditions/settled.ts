import type { Expression, Variable } from '../cel/expression.ts';
import { filtered, literal, other } from '../cel/expression.ts';
import { MAX_REMEMBERED, MAX_SETTLED_LENGTH, REMEMBERED_ANNOTATION } from '../judge/memory.ts';

/** `key=value:Effect` or `key:Effect`, as kubectl writes a taint `t`: {@link formatTaint} in CEL. */
export const WRITTEN: Expression = other(
  't.key + (has(t.value) && t.value != "" ? "=" + t.value : "") + ":" + t.effect',
  180,
);

/** To read `MAX_SETTLED_LENGTH` characters, to cut them up and to trim the pieces. */
const SETTLED_COST = 16_000;

const KEPT_ITEM_COST = 20;

/** The taints that have settled on the node before an update, as they are written: {@link settledOn} in CEL. */
export const SETTLED: Variable = {
  name: 'settled',
  definition: (() => {
    const annotations = 'oldObject.metadata.annotations';
    const key = literal(REMEMBERED_ANNOTATION);
    return other(
      `has(${annotations}) && ${key} in ${annotations} &&
  size(${annotations}[${key}]) <= ${MAX_SETTLED_LENGTH}
  ? ${annotations}[${key}].split(",", ${MAX_REMEMBERED + 1}).map(e, e.trim())
  : []`,
      SETTLED_COST,
    );
  })(),
};

/** True for a taint `t` that has settled. */
export const HAS_SETTLED: Expression = other(
  `(${WRITTEN.text}) in settled`,
  () => WRITTEN.cost(0) + MAX_REMEMBERED + 6,
  ['settled'],
);

/** The taints of the list that have settled, a bound name. */
export function settledOf(list: string): Variable {
  return {
    name: settledName(list),
    definition: other(filtered(list, 't', HAS_SETTLED), (size) => size * (HAS_SETTLED.cost(size) + KEPT_ITEM_COST), [
      list,
      ...HAS_SETTLED.uses,
    ]),
  };
}

export function settledName(list: string): string {
  return `settled${list.charAt(0).toUpperCase()}${list.slice(1)}`;
}
