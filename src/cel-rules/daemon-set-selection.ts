import { all, cel, type Expression, literal, reference, referenced, type Variable } from '../cel/expression.ts';
import { matchesAny, type Operand } from '../cel/pattern.ts';
import { oncePer } from '../collections/once-per.ts';
import { IGNORE_ANNOTATION } from '../judge/daemon-set-view.ts';
import { DNS_SUBDOMAIN_LENGTH } from '../kubernetes/names.ts';
import type { DaemonSetSelection } from '../policy/daemon-set-selection.ts';
import { LABELS, NAMESPACE_OPERAND, selectsIn } from './selection.ts';

/** A name that the API server still has to generate is matched by its prefix. */
const NAME: Variable = {
  name: 'name',
  definition: cel(30)`has(object.metadata.name) && object.metadata.name != "" ? object.metadata.name :
  has(request.name) && request.name != "" ? request.name :
  has(object.metadata.generateName) ? object.metadata.generateName : ""`,
};
const NAME_OPERAND: Operand = { value: reference('name'), maxLength: DNS_SUBDOMAIN_LENGTH };

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

/** True when the DaemonSet is not being deleted. */
export const NOT_DELETED: Expression = cel(3)`!has(object.metadata.deletionTimestamp)`;

/** True when the DaemonSet does not opt out. */
export const NOT_IGNORED: Expression = (() => {
  const annotations = 'object.metadata.annotations';
  const key = literal(IGNORE_ANNOTATION);
  return cel(20)`(!has(${annotations}) || !(${key} in ${annotations}) ||\n  ${annotations}[${key}] == "false")`;
})();
