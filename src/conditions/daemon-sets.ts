import { all, cel, type Expression, literal, reference, type Variable } from '../cel/expression.ts';
import { matchesAny, type Operand } from '../cel/pattern.ts';
import { IGNORE_ANNOTATION } from '../judge/daemon-set.ts';
import type { DaemonSetSelection } from '../policy/daemon-set-selection.ts';
import { LABELS, selectsIn } from './selection.ts';
import { normalized } from './tolerations.ts';

/** Fields of a template and of a pod's spec that may be set. */
const FIELDS = 80;

/** The tolerations of a DaemonSet before an update, as they stand there. None before a creation. */
const TOLERATIONS_AS_THEY_WERE: Variable = {
  name: 'oldTolerations',
  definition: cel(30)`request.operation == "UPDATE" && has(oldObject.spec.template.spec.tolerations)
? oldObject.spec.template.spec.tolerations
: []`,
};

/** The same, and spelled out: {@link normalized}. */
export const TOLERATIONS_BEFORE: readonly [asTheyStand: Variable, normalized: Variable] = [
  TOLERATIONS_AS_THEY_WERE,
  { name: 'before', definition: normalized(TOLERATIONS_AS_THEY_WERE) },
];

/** True for an update that leaves the pod template as it was, its tolerations not considered. */
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
    cel(FIELDS * 30)`${after}.all(f, f == "${apart}" || (f in ${before} && ${after}[f] == ${before}[f]))`,
    cel(FIELDS * 15)`${before}.all(f, f == "${apart}" || f in ${after})`,
  ];
}

/** A name that is still to be generated is matched by its beginning. */
const NAME: Variable = {
  name: 'name',
  definition: cel(30)`has(object.metadata.name) && object.metadata.name != "" ? object.metadata.name :
  has(request.name) && request.name != "" ? request.name :
  has(object.metadata.generateName) ? object.metadata.generateName : ""`,
};
const NAME_OPERAND: Operand = { value: reference('name'), maxLength: 253 };
const NAMESPACE_OPERAND: Operand = { value: cel(2)`request.namespace`, maxLength: 63 };

/** What {@link selectsDaemonSet} uses. */
export const SELECTION_VARIABLES: readonly Variable[] = [LABELS, NAME];

/** True when the DaemonSet is among those that a policy is for. */
export function selectsDaemonSet({ namespaces, names = ['*'], selector }: DaemonSetSelection): Expression {
  return all([
    matchesAny(NAMESPACE_OPERAND, namespaces.toSorted()),
    matchesAny(NAME_OPERAND, names.toSorted()),
    selectsIn(reference(LABELS.name), selector),
  ]);
}

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
