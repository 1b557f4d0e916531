import { cel, type Expression, literal, type Variable } from '../cel/expression.ts';
import { literals } from '../cel/lists.ts';
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

/** In place of a value: any. No toleration has it as its own. */
const ANY_VALUE = '*';

/** Taints that are asked for, as a map in CEL. */
export function rangeLiteral({ key, value, effect }: TaintRange): string {
  return mapLiteral({ key: key ?? '', value: value ?? ANY_VALUE, effect });
}

/**
 * The NoExecute taints that a toleration asks for, and for how long, as a map in CEL. None where nothing can be shorter.
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

/** A map of texts in CEL. */
export function mapLiteral(fields: Readonly<Record<string, string>>): string {
  return `{${Object.entries(fields)
    .map(([field, text]) => `${literal(field)}: ${literal(text)}`)
    .join(', ')}}`;
}

/**
 * True when no one of the `tolerations` tolerates all taints of `want`, a map as {@link rangeLiteral} makes it: {@link covers}
 * in CEL.
 * @param dynamic whether the fields of `want` are of dynamic type; they are texts all the same
 */
export function notTolerated({ dynamic }: { readonly dynamic: boolean }): Expression {
  const want = (field: string) => (dynamic ? `string(want.${field})` : `want.${field}`);
  return cel((size) => 5 + size * COMPARISON_COST)`!${TOLERATIONS}.exists(t,
  (!has(t.effect) || t.effect in ["", ${want('effect')}]) &&
  (!has(t.key) || t.key in ["", ${want('key')}]) &&
  (!has(t.operator) || t.operator in ["", "Equal"]
    ? has(t.key) && t.key != "" && ${VALUE} == want.value
    : t.operator == "Exists"))`;
}

/**
 * True when the first of the `tolerations` that counts for `want`, a map as {@link secondsLiteral} makes it, ends too early:
 * {@link cutShortBy} in CEL.
 */
export const ENDS_TOO_EARLY: Expression = (() => {
  const short = cel(
    SECONDS_COST,
  )`has(t.tolerationSeconds) && (want.seconds == "" || t.tolerationSeconds < int(want.seconds)) &&
!(has(t.key) && t.key in ${literals(OUTLASTING_KEYS)} && has(t.operator) && t.operator == "Exists")`;
  const reaches = cel(COMPARISON_COST)`(!has(t.effect) || t.effect in ["", "NoExecute"]) &&
(want.key == "" || !has(t.key) || t.key in ["", want.key]) &&
(!has(t.operator) || t.operator in ["", "Equal"]
  ? has(t.key) && t.key != "" && (want.value == "${ANY_VALUE}" || ${VALUE} == want.value)
  : t.operator == "Exists")`;
  const covers = cel(COMPARISON_COST)`(!has(t.key) || t.key in ["", want.key]) &&
(has(t.operator) && t.operator == "Exists" || ${VALUE} == want.value)`;
  return cel((size) => 20 + size * (COMPARISON_COST + SECONDS_COST))`[${TOLERATIONS}.map(t,
  ${reaches} &&
  (${covers} ||
  ${short}),
  ${short})].exists(found, size(found) > 0 && found[0])`;
})();

/** Fields in which tolerations may differ, with what stands for one that is left out. */
const FIELDS = { key: '', operator: 'Equal', value: '', effect: '' } as const;
const NORMALIZED_COST = 80;

/** A toleration as a map of strings in CEL, spelled out: two that say the same ({@link equalToleration}) are equal. */
export function normalizedLiteral(toleration: Toleration): string {
  const fields = Object.entries(FIELDS).map(
    ([field, absent]) => `"${field}": ${literal(toleration[field as keyof typeof FIELDS] || absent)}`,
  );
  return `{${[...fields, `"seconds": ${literal(String(toleration.tolerationSeconds ?? ''))}`].join(', ')}}`;
}

/** The same for each toleration of a list. */
export function normalized(list: Variable): Expression {
  const fields = Object.entries(FIELDS).map(([field, absent]) =>
    absent === ''
      ? `"${field}": has(t.${field}) ? string(t.${field}) : ""`
      : `"${field}": has(t.${field}) && t.${field} != "" ? string(t.${field}) : "${absent}"`,
  );
  const seconds = '"seconds": has(t.tolerationSeconds) ? string(t.tolerationSeconds) : ""';
  return cel((size) => 5 + size * NORMALIZED_COST)`${list}.map(t, {\n  ${[...fields, seconds].join(',\n  ')}\n})`;
}
