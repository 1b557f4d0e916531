import {
  all,
  any,
  bind,
  cel,
  type Expression,
  FALSE,
  LIST_COST,
  literal,
  not,
  reference,
  TRUE,
  type Variable,
} from '../cel/expression.ts';
import { exists, literals } from '../cel/lists.ts';
import { isOneOf, matchesAny, type Operand } from '../cel/pattern.ts';
import type { LabelSelector, LabelSelectorRequirement } from '../kubernetes/label-selector.ts';
import { DNS_LABEL_LENGTH } from '../kubernetes/names.ts';
import { isPattern } from '../kubernetes/pattern.ts';

/** Requesters with more groups, or a longer name, go to the webhook: patterns cost time. */
const MAX_GROUPS = 64;
const MAX_NAME_LENGTH = 256;

/** The namespace of the request. */
export const NAMESPACE_OPERAND: Operand = { value: cel(2)`request.namespace`, maxLength: DNS_LABEL_LENGTH };

/** The name of the requester: a variable of {@link REQUESTER_VARIABLES}. */
export const USER_NAME = reference('user');
const USER: Operand = { value: USER_NAME, maxLength: MAX_NAME_LENGTH };
const GROUPS = reference('groups');
const GROUP: Operand = { value: cel(1)`group`, maxLength: MAX_NAME_LENGTH };

/** The requester. */
export const REQUESTER_VARIABLES: readonly Variable[] = [
  { name: 'user', definition: cel(4)`has(request.userInfo.username) ? request.userInfo.username : ""` },
  { name: 'groups', definition: cel(4 + 12)`has(request.userInfo.groups) ? request.userInfo.groups : []` },
];

/** True if the requester is one of these users, or in one of these groups. `*` stands for any characters. */
export function isRequesterAmong(names: {
  readonly users?: readonly string[];
  readonly groups?: readonly string[];
}): Expression {
  const { users = [], groups = [] } = names;
  return any([
    ofBoundedLength(USER, users),
    all([
      cel(2)`size(${GROUPS}) <= ${MAX_GROUPS}`,
      exists({ items: GROUPS, size: MAX_GROUPS }, 'group', ofBoundedLength(GROUP, groups)),
    ]),
  ]);
}

/** A kubelet, by the API server's rule (`NodeIdentity` of k8s.io/kubernetes/pkg/auth/nodeidentifier). */
export const IS_NODE: Expression = all([
  cel(30)`${USER.value}.startsWith("system:node:")`,
  cel(MAX_GROUPS)`"system:nodes" in ${GROUPS}`,
]);

function ofBoundedLength(name: Operand, patterns: readonly string[]): Expression {
  if (patterns.includes('*')) return matchesAny(name, ['*']);
  return any([
    isOneOf(
      name,
      [...new Set(patterns)].filter((pattern) => !isPattern(pattern) && pattern.isWellFormed()),
    ),
    all([cel(2)`size(${name.value}) <= ${MAX_NAME_LENGTH}`, matchesAny(name, patterns.filter(isPattern))]),
  ]);
}

const KEY_COST = 2;
const VALUE_COST = 9;

/** True if the labels, a map in CEL, satisfy the whole selector: {@link selects} in CEL. */
export function selectsIn(labels: Expression, selector: LabelSelector | undefined): Expression {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  return all([
    ...Object.entries(matchLabels).map(([key, value]) =>
      requirement(labels, { key, operator: 'In', values: [value ?? ''] }),
    ),
    ...matchExpressions.map((expression) => requirement(labels, expression)),
  ]);
}

function requirement(labels: Expression, { key, operator, values = [] }: LabelSelectorRequirement): Expression {
  // Such a key is valid neither in a selector nor in an object, so no object has such a label.
  const exists = key.isWellFormed() ? cel(KEY_COST)`${literal(key)} in ${labels}` : FALSE;
  switch (operator) {
    case 'In':
      return all([exists, valueIn(labels, key, values)]);
    case 'NotIn':
      return not(all([exists, valueIn(labels, key, values)]));
    case 'Exists':
      return exists;
    case 'DoesNotExist':
      return not(exists);
  }
}

function valueIn(labels: Expression, key: string, values: readonly string[]): Expression {
  const possible = values.filter((value) => value.isWellFormed());
  const [first] = possible;
  if (first === undefined) return FALSE;
  const comparison = possible.length === 1 ? `== ${literal(first)}` : `in ${literals(possible)}`;
  return cel(VALUE_COST + possible.length)`${labels}[${literal(key)}] ${comparison}`;
}

/** The labels of the node before an update. */
export const LABELS_BEFORE: Variable = { name: 'oldLabels', definition: labelsOf('oldObject') };
/** The labels of the object after the request. */
export const LABELS: Variable = { name: 'labels', definition: labelsOf('object') };

function labelsOf(object: 'object' | 'oldObject'): Expression {
  return cel(40)`has(${object}.metadata.labels) ? ${object}.metadata.labels : {}`;
}

/** True if the condition is true for the labels `l` before or after an update. Both variables must be bound. */
export function beforeOrAfter(condition: Expression): Expression {
  if (condition === TRUE) return TRUE;
  return exists({ items: cel(LIST_COST)`[${LABELS_BEFORE}, ${LABELS}]`, size: 2 }, 'l', condition);
}

/** True if the labels meet all requirements before or after an update, as the API server evaluates an `objectSelector`. */
export function meetsBeforeOrAfter(requirements: readonly LabelSelectorRequirement[]): Expression {
  const item = selectsIn(cel(1)`l`, { matchExpressions: requirements });
  return bind([LABELS_BEFORE, LABELS], beforeOrAfter(item));
}
