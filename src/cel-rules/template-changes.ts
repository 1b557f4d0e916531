import { all, cel, type Expression, type Variable } from '../cel/expression.ts';
import { mapLiteral } from '../cel/lists.ts';
import type { Toleration } from '../kubernetes/toleration.ts';

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
