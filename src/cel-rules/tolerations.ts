import { all, cel, type Expression, type Variable } from '../cel/expression.ts';
import { literals, mapLiteral } from '../cel/lists.ts';
import { OUTLASTING_KEYS } from '../kubernetes/daemon-tolerations.ts';
import type { TaintRange } from '../kubernetes/taint-range.ts';
import type { Toleration } from '../kubernetes/toleration.ts';
import { VALUE } from './taints.ts';

/** The tolerations of a DaemonSet's pods. */
export const TOLERATIONS: Variable = {
  name: 'tolerations',
  definition: cel(20)`has(object.spec.template.spec.tolerations) ? object.spec.template.spec.tolerations : []`,
};

const COMPARISON_COST = 70;
const SECONDS_COST = 110;

/** In place of a value: any value. No toleration has it as its own value. */
const ANY_VALUE = '*';

/** Required tolerations as a map in CEL. */
export function rangeLiteral({ key, value, effect }: TaintRange): string {
  return mapLiteral({ key: key ?? '', value: value ?? ANY_VALUE, effect });
}

/**
 * The NoExecute taints that a toleration must tolerate, and for how long, as a map in CEL. None if no toleration can be shorter.
 * @param more fields
 */
export function secondsLiteral(
  { key, value, effect }: TaintRange,
  { tolerationSeconds }: Toleration,
  more: Readonly<Record<string, string>> = {},
): string | undefined {
  if (effect !== 'NoExecute' || (tolerationSeconds ?? 1) <= 0) return undefined;
  const seconds = tolerationSeconds == null ? '' : String(tolerationSeconds);
  return mapLiteral({ key: key ?? '', value: value ?? ANY_VALUE, seconds, ...more });
}

/**
 * True if none of the `tolerations` tolerates all taints of `required`, a map from {@link rangeLiteral}: {@link covers} in CEL.
 * @param dynamic whether the fields of `required` have a dynamic type. They are texts in both cases
 */
export function notTolerated({ dynamic }: { readonly dynamic: boolean }): Expression {
  const required = (field: string) => (dynamic ? `string(required.${field})` : `required.${field}`);
  return cel((size) => 4 + size * COMPARISON_COST)`!${TOLERATIONS}.exists(t,
  (!has(t.effect) || t.effect in ["", ${required('effect')}]) &&
  (!has(t.key) || t.key in ["", ${required('key')}]) &&
  (!has(t.operator) || t.operator in ["", "Equal"]
    ? has(t.key) && t.key != "" && ${VALUE} == required.value
    : t.operator == "Exists"))`;
}

/**
 * True if the first of the `tolerations` that matches `required`, a map from {@link secondsLiteral}, ends too early: {@link cutShortBy} in CEL.
 */
export const ENDS_TOO_EARLY: Expression = (() => {
  const short = `has(t.tolerationSeconds) && (required.seconds == "" || t.tolerationSeconds < int(required.seconds)) &&
!(has(t.key) && t.key in ${literals(OUTLASTING_KEYS)} && has(t.operator) && t.operator == "Exists")`;
  const reaches = `(!has(t.effect) || t.effect in ["", "NoExecute"]) &&
(required.key == "" || !has(t.key) || t.key in ["", required.key]) &&
(!has(t.operator) || t.operator in ["", "Equal"]
  ? has(t.key) && t.key != "" && (required.value == "${ANY_VALUE}" || ${VALUE} == required.value)
  : t.operator == "Exists")`;
  const covers = `(!has(t.key) || t.key in ["", required.key]) &&
(has(t.operator) && t.operator == "Exists" || ${VALUE} == required.value)`;
  return cel((size) => 19 + size * (COMPARISON_COST + SECONDS_COST))`[${TOLERATIONS}.map(t,
  ${reaches} &&
  (${covers} ||
  ${short}),
  ${short})].exists(found, size(found) > 0 && found[0])`;
})();

/** True when the DaemonSet's pods use the network of their nodes. */
export const HOST_NETWORK: Expression = all([
  cel(5)`has(object.spec.template.spec.hostNetwork)`,
  cel(5)`object.spec.template.spec.hostNetwork`,
]);
