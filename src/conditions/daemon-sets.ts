import { all, type Expression, literal, other, type Variable } from '../cel/expression.ts';
import { matchesAny, type Operand } from '../cel/pattern.ts';
import { IGNORE_ANNOTATION } from '../judge/daemon-set.ts';
import type { DaemonSetSelection } from '../policy/daemon-set-selection.ts';
import { LABELS, selectsIn } from './selection.ts';
import { normalized } from './tolerations.ts';

/** Fields of a template and of a pod's spec that may be set. */
const FIELDS = 80;

/** The tolerations of a DaemonSet before an update: as they stand there, and spelled out. None before a creation. */
export const TOLERATIONS_BEFORE: readonly Variable[] = [
  {
    name: 'ran',
    definition: other(
      `request.operation == "UPDATE" && has(oldObject.spec.template.spec.tolerations)
? oldObject.spec.template.spec.tolerations
: []`,
      30,
    ),
  },
  { name: 'before', definition: normalized('ran') },
];

/** True for an update that leaves the pod template as it was, its tolerations not considered. */
export const SAME_TEMPLATE: Variable = {
  name: 'sameTemplate',
  definition: all([
    other('request.operation == "UPDATE"', 5),
    ...sameFields('spec.template', 'spec'),
    ...sameFields('spec.template.spec', 'tolerations'),
  ]),
};

function sameFields(part: string, apart: string) {
  const [before, after] = [`oldObject.${part}`, `object.${part}`];
  return [
    other(`${after}.all(f, f == "${apart}" || (f in ${before} && ${after}[f] == ${before}[f]))`, FIELDS * 30),
    other(`${before}.all(f, f == "${apart}" || f in ${after})`, FIELDS * 15),
  ];
}

/** A name that is still to be generated is matched by its beginning. */
const NAME: Variable = {
  name: 'name',
  definition: other(
    `has(object.metadata.name) && object.metadata.name != "" ? object.metadata.name :
  has(request.name) && request.name != "" ? request.name :
  has(object.metadata.generateName) ? object.metadata.generateName : ""`,
    30,
  ),
};
const NAME_OPERAND: Operand = { text: 'name', maxLength: 253, uses: ['name'] };
const NAMESPACE_OPERAND: Operand = { text: 'request.namespace', maxLength: 63 };

/** What {@link selectsDaemonSet} uses. */
export const SELECTION_VARIABLES: readonly Variable[] = [LABELS, NAME];

/** True when the DaemonSet is among those that a policy is for. */
export function selectsDaemonSet({ namespaces, names = ['*'], selector }: DaemonSetSelection): Expression {
  return all([
    matchesAny(NAMESPACE_OPERAND, namespaces.toSorted()),
    matchesAny(NAME_OPERAND, names.toSorted()),
    selectsIn('labels', selector),
  ]);
}

export const NOT_DELETED: Expression = other('!has(object.metadata.deletionTimestamp)', 3);

/** True when the DaemonSet's pods use the network of their nodes. */
export const HOST_NETWORK: Expression = all([
  other('has(object.spec.template.spec.hostNetwork)', 5),
  other('object.spec.template.spec.hostNetwork', 5),
]);

/** True when the DaemonSet does not opt out. */
export const NOT_IGNORED: Expression = (() => {
  const annotations = 'object.metadata.annotations';
  const key = literal(IGNORE_ANNOTATION);
  return other(`(!has(${annotations}) || !(${key} in ${annotations}) ||\n  ${annotations}[${key}] == "false")`, 20);
})();
