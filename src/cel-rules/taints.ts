import { all, bind, cel, type Expression, FALSE, not, reference, type Variable } from '../cel/expression.ts';
import { each, exists, literals, mapLiteral, those } from '../cel/lists.ts';
import type { Taint } from '../kubernetes/taint.ts';
import type { EnsuredTaint } from '../policy/compiled-taint-policy.ts';

/** The taints of the node before an update, and after it. */
export const TAINTS_BEFORE: Variable = { name: 'before', definition: taintsOf('oldObject') };
export const TAINTS_AFTER: Variable = { name: 'after', definition: taintsOf('object') };

/** The value of the taint `t`. Absent and empty are the same. */
export const VALUE = '(has(t.value) ? t.value : "")';

/** `key:Effect`, which no other taint `t` of a node has. As an entry of an annotation, it names the taint with any value. */
export const NAME_WITHOUT_VALUE: Expression = cel(80)`t.key + ":" + t.effect`;

/** {@link NAME_WITHOUT_VALUE} of a known taint. */
export function nameWithoutValue({ key, effect }: Taint): string {
  return `${key}:${effect}`;
}

/** `key=value:Effect`, with the `=` also if there is no value. */
export const EXACT_NAME: Expression = cel(175)`t.key + "=" + ${VALUE} + ":" + t.effect`;

/** {@link EXACT_NAME} of a known taint. */
export function exactName({ key, value, effect }: Taint): string {
  return `${key}=${value ?? ''}:${effect}`;
}

/** `key=value:Effect` or `key:Effect`, as kubectl writes a taint `t`: {@link formatTaint} in CEL. */
export const FORMATTED: Expression = cel(
  180,
)`t.key + (has(t.value) && t.value != "" ? "=" + t.value : "") + ":" + t.effect`;

/** The exact names of the taints before an update and after it. Comparing the taints themselves costs the API server many times as much. */
export const NAMES_BEFORE: Variable = { name: 'beforeNames', definition: each(TAINTS_BEFORE, EXACT_NAME) };
export const NAMES_AFTER: Variable = { name: 'afterNames', definition: each(TAINTS_AFTER, EXACT_NAME) };

const IS_REMOVED = notAmong(EXACT_NAME, NAMES_AFTER);
const IS_ADDED = notAmong(EXACT_NAME, NAMES_BEFORE);

/**
 * The taints that an update removes, {@link taintsOnlyIn} in CEL. Their `timeAdded` does not count.
 * @param isCorrected true for one whose value changes to the value that a policy requires: it does not count as removed
 */
export function removed(isCorrected: Expression): Variable {
  return { name: 'removed', definition: those(TAINTS_BEFORE, all([IS_REMOVED, not(isCorrected)])) };
}
/** A reference to {@link removed}. */
export const REMOVED: Expression = reference('removed');

/** The taints that an update adds. */
export const ADDED: Variable = { name: 'added', definition: those(TAINTS_AFTER, IS_ADDED) };

/** True if an update changes the list of taints, or only its order. */
export const TAINTS_CHANGE: Expression = cel((size) => size / 10 + 1)`${TAINTS_BEFORE} != ${TAINTS_AFTER}`;

/** True if the update removes a taint, protected or not. */
export const REMOVES_TAINTS: Expression = all([
  TAINTS_CHANGE,
  bind([NAMES_AFTER], exists(TAINTS_BEFORE, 't', IS_REMOVED)),
]);

/** True if the update adds a taint, protected or not. A changed value is an addition. */
export const ADDS_TAINTS: Expression = all([TAINTS_CHANGE, bind([NAMES_BEFORE], exists(TAINTS_AFTER, 't', IS_ADDED))]);

/** True if the name of the taint `t` is in the list. */
export function among(name: Expression, list: Variable): Expression {
  return cel((size) => size + 1)`${name} in ${list}`;
}

/** True if it is not. */
export function notAmong(name: Expression, list: Variable): Expression {
  return not(among(name, list));
}

/** True if the name of the taint `t` is one of these texts. */
export function isOneOfNames(name: Expression, names: readonly string[]): Expression {
  const distinct = [...new Set(names)];
  if (distinct.length === 0) return FALSE;
  return cel(distinct.length + 12)`(${name}) in ${literals(distinct)}`;
}

/** The taints of a new node. */
export const TAINTS: Variable = { name: 'taints', definition: taintsOf('object') };

function taintsOf(node: 'object' | 'oldObject'): Expression {
  return cel(20)`has(${node}.spec) && has(${node}.spec.taints) ? ${node}.spec.taints : []`;
}

/** A required or startup taint as a map in CEL: without a value if any value is accepted. */
export function declaredLiteral({ taint: { key, value, effect }, anyValue }: EnsuredTaint): string {
  return mapLiteral({ key, ...(anyValue ? {} : { value: value ?? '' }), effect });
}

/** Cost of comparing the keys of two maps, at their greatest length. */
const COMPARISON_COST = 50;

/** True if the node, with these taints, lacks the taint named `required`, a map from {@link declaredLiteral}. */
export function lacksDeclared(taints: Variable): Expression {
  return cel((size) => 4 + size * COMPARISON_COST)`!${taints}.exists(t,
  t.key == required.key && t.effect == required.effect &&
  (!has(required.value) || required.value == ${VALUE}))`;
}
