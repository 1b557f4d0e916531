import { all, cel, type Expression, literal, reference, referenced, type Variable } from '../cel/expression.ts';
import { literals, mapLiteral } from '../cel/lists.ts';
import { matchesAny, type Operand } from '../cel/pattern.ts';
import { IGNORE_ANNOTATION } from '../judge/daemon-set-view.ts';
import { OUTLASTING_KEYS } from '../kubernetes/daemon-tolerations.ts';
import { DNS_LABEL_LENGTH, DNS_SUBDOMAIN_LENGTH } from '../kubernetes/names.ts';
import type { TaintRange } from '../kubernetes/taint-range.ts';
import type { Toleration } from '../kubernetes/toleration.ts';
import type { DaemonSetSelection } from '../policy/daemon-set-selection.ts';
import { oncePer } from '../runtime/once-per.ts';
import { LABELS, selectsIn } from './selection.ts';
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

/** Fields in which tolerations may differ, with the default of each. */
const FIELDS = { key: '', operator: 'Equal', value: '', effect: '' } as const;
const NORMALIZED_COST = 80;

/** A toleration as a map of strings in CEL, with defaults filled in: equal tolerations ({@link equalToleration}) are equal maps. */
export function normalizedLiteral(toleration: Toleration): string {
  const fields = Object.entries(FIELDS).map(([field, absent]) => [
    field,
    toleration[field as keyof typeof FIELDS] || absent,
  ]);
  return mapLiteral({ ...Object.fromEntries(fields), seconds: String(toleration.tolerationSeconds ?? '') });
}

/** The same for each toleration of a list. */
export function normalized(list: Variable): Expression {
  const fields = Object.entries(FIELDS).map(([field, absent]) =>
    absent === ''
      ? `"${field}": has(t.${field}) ? string(t.${field}) : ""`
      : `"${field}": has(t.${field}) && t.${field} != "" ? string(t.${field}) : "${absent}"`,
  );
  const seconds = '"seconds": has(t.tolerationSeconds) ? string(t.tolerationSeconds) : ""';
  return cel((size) => 4 + size * NORMALIZED_COST)`${list}.map(t, {\n  ${[...fields, seconds].join(',\n  ')}\n})`;
}

/** Fields of a template and of a pod's spec that may be set. */
const MAX_FIELDS = 80;

/** The tolerations of a DaemonSet before an update, as written. None before a creation. */
const TOLERATIONS_AS_THEY_WERE: Variable = {
  name: 'oldTolerations',
  definition: cel(30)`request.operation == "UPDATE" && has(oldObject.spec.template.spec.tolerations)
? oldObject.spec.template.spec.tolerations
: []`,
};

/** The same, {@link normalized}. */
export const TOLERATIONS_BEFORE: readonly [asTheyStand: Variable, normalized: Variable] = [
  TOLERATIONS_AS_THEY_WERE,
  { name: 'before', definition: normalized(TOLERATIONS_AS_THEY_WERE) },
];

/** True for an update that leaves the pod template unchanged, except for its tolerations. */
export const SAME_TEMPLATE: Variable = {
  name: 'sameTemplate',
  definition: all([
    cel(5)`request.operation == "UPDATE"`,
    ...sameFields('spec.template', 'spec'),
    ...sameFields('spec.template.spec', 'tolerations'),
  ]),
};

function sameFields(part: string, apart: string) {
  const [before, after] = [`oldObject.${part}`, `object.${part}`];
  return [
    cel(MAX_FIELDS * 30)`${after}.all(f, f == "${apart}" || (f in ${before} && ${after}[f] == ${before}[f]))`,
    cel(MAX_FIELDS * 15)`${before}.all(f, f == "${apart}" || f in ${after})`,
  ];
}

/** A name that the API server still has to generate is matched by its prefix. */
const NAME: Variable = {
  name: 'name',
  definition: cel(30)`has(object.metadata.name) && object.metadata.name != "" ? object.metadata.name :
  has(request.name) && request.name != "" ? request.name :
  has(object.metadata.generateName) ? object.metadata.generateName : ""`,
};
const NAME_OPERAND: Operand = { value: reference('name'), maxLength: DNS_SUBDOMAIN_LENGTH };
/** The namespace of the request. */
export const NAMESPACE_OPERAND: Operand = { value: cel(2)`request.namespace`, maxLength: DNS_LABEL_LENGTH };

/** What {@link selectsDaemonSet} uses. */
export const SELECTION_VARIABLES: readonly Variable[] = [LABELS, NAME];

/** True if the policy selects the DaemonSet. */
export const selectsDaemonSet = oncePer(
  ({ namespaces, names = ['*'], selector }: DaemonSetSelection): Expression =>
    all([
      matchesAny(NAMESPACE_OPERAND, namespaces.toSorted()),
      matchesAny(NAME_OPERAND, names.toSorted()),
      selectsIn(referenced(LABELS), selector),
    ]),
);

export const NOT_DELETED: Expression = cel(3)`!has(object.metadata.deletionTimestamp)`;

/** True when the DaemonSet's pods use the network of their nodes. */
export const HOST_NETWORK: Expression = all([
  cel(5)`has(object.spec.template.spec.hostNetwork)`,
  cel(5)`object.spec.template.spec.hostNetwork`,
]);

/** True when the DaemonSet does not opt out. */
export const NOT_IGNORED: Expression = (() => {
  const annotations = 'object.metadata.annotations';
  const key = literal(IGNORE_ANNOTATION);
  return cel(20)`(!has(${annotations}) || !(${key} in ${annotations}) ||\n  ${annotations}[${key}] == "false")`;
})();
