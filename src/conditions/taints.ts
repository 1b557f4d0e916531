import { all, bind, cel, type Expression, literal, reference, type Variable } from '../cel/expression.ts';
import { each, exists, those } from '../cel/lists.ts';
import type { RequiredTaint } from '../policy/policy-set.ts';

/** The taints of the node before an update, and after it. */
export const TAINTS_BEFORE: Variable = { name: 'before', definition: taintsOf('oldObject') };
export const TAINTS_AFTER: Variable = { name: 'after', definition: taintsOf('object') };

/** The value of the taint `t`; absent and empty mean the same. */
export const VALUE = '(has(t.value) ? t.value : "")';

/** `key:Effect`, what makes a taint `t` the one it is on a node; as an entry of an annotation, the taint with any value. */
export const IDENTITY: Expression = cel(80)`t.key + ":" + t.effect`;

/** `key=value:Effect`, with the `=` also where there is no value. */
export const EXACT_NAME: Expression = cel(175)`t.key + "=" + ${VALUE} + ":" + t.effect`;

/** `key=value:Effect` or `key:Effect`, as kubectl writes a taint `t`: {@link formatTaint} in CEL. */
export const FORMATTED: Expression = cel(
  180,
)`t.key + (has(t.value) && t.value != "" ? "=" + t.value : "") + ":" + t.effect`;

/** The exact names of the taints before an update, and after it: to compare the taints costs the API server many times as much. */
export const NAMES_BEFORE: Variable = { name: 'beforeNames', definition: each('before', EXACT_NAME) };
export const NAMES_AFTER: Variable = { name: 'afterNames', definition: each('after', EXACT_NAME) };

const IS_DROPPED = notAmong(EXACT_NAME, NAMES_AFTER.name);
const IS_ADDED = notAmong(EXACT_NAME, NAMES_BEFORE.name);

/** The taints that an update drops, {@link droppedTaints} in CEL: their `timeAdded` does not count. */
export const DROPPED: Variable = { name: 'dropped', definition: those('before', IS_DROPPED) };
/** The same the other way round. */
export const ADDED: Variable = { name: 'added', definition: those('after', IS_ADDED) };

/** True when an update changes the list of taints, be it their order alone. */
export const TAINTS_CHANGE: Expression = cel((size) => size / 10 + 3)`${TAINTS_BEFORE} != ${TAINTS_AFTER}`;

/** True when the update drops a taint, protected or not. */
export const DROPS_TAINTS: Expression = all([TAINTS_CHANGE, bind([NAMES_AFTER], exists('before', 't', IS_DROPPED))]);

/** True when the update adds a taint, guarded or not; a changed value is one. */
export const ADDS_TAINTS: Expression = all([TAINTS_CHANGE, bind([NAMES_BEFORE], exists('after', 't', IS_ADDED))]);

/** True when the name of the taint `t` is not in the list, a variable. */
export function notAmong(name: Expression, list: string): Expression {
  return cel((size) => name.cost(size) + size + 3)`!(${name} in ${reference(list)})`;
}

/** The taints of a node, a variable of the API server's. */
export function taintsOf(node: 'object' | 'oldObject'): Expression {
  return cel(20)`has(${node}.spec) && has(${node}.spec.taints) ? ${node}.spec.taints : []`;
}

/** A required taint as a map in CEL: without a value where any will do. */
export function presentLiteral({ taint: { key, value, effect }, anyValue }: RequiredTaint): string {
  const fields = { key, ...(anyValue ? {} : { value: value ?? '' }), effect };
  return `{${Object.entries(fields)
    .map(([field, text]) => `${literal(field)}: ${literal(text)}`)
    .join(', ')}}`;
}

/** Of two maps, the comparison of keys of the greatest length. */
const COMPARISON_COST = 50;

/** True when the node, with its `taints`, lacks the required taint that goes by the name `want`, as {@link presentLiteral} makes it. */
export const LACKS_WANTED: Expression = cel((size) => 5 + size * COMPARISON_COST)`!${reference('taints')}.exists(t,
  t.key == want.key && t.effect == want.effect &&
  (!has(want.value) || want.value == ${VALUE}))`;
