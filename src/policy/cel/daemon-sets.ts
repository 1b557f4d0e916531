import { IGNORE_ANNOTATION } from '../daemon-set.ts';
import type { DaemonSetSelection } from '../daemon-set-selection.ts';
import { all, type Expression, literal, other, type Variable } from './expression.ts';
import { matchesAny, type Operand } from './pattern.ts';
import { LABELS, selectsIn } from './selector.ts';

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
