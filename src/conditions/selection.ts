import { all, any, type Expression, exists, literal, literals, not, other, type Variable } from '../cel/expression.ts';
import { isOneOf, matchesAny, type Operand } from '../cel/pattern.ts';
import type { LabelSelector, LabelSelectorRequirement } from '../kubernetes/label-selector.ts';
import { isPattern } from '../kubernetes/pattern.ts';

/** A requester with more groups than this, or a longer name, is left to the webhook: patterns cost time. */
const MAX_GROUPS = 64;
const MAX_NAME_LENGTH = 256;

const USER: Operand = { text: 'user', maxLength: MAX_NAME_LENGTH, uses: ['user'] };
const GROUP: Operand = { text: 'group', maxLength: MAX_NAME_LENGTH };

/** Who makes the request. */
export const REQUESTER_VARIABLES: readonly Variable[] = [
  { name: 'user', definition: other('has(request.userInfo.username) ? request.userInfo.username : ""', 4) },
  { name: 'groups', definition: other('has(request.userInfo.groups) ? request.userInfo.groups : []', 4 + 12) },
];

/** True when the requester is one of these users, or in one of these groups; `*` is a wildcard. */
export function isAmong(names: {
  readonly users?: readonly string[];
  readonly groups?: readonly string[];
}): Expression {
  const { users = [], groups = [] } = names;
  return any([
    ofBoundedLength(USER, users),
    all([
      other(`size(groups) <= ${MAX_GROUPS}`, 3, ['groups']),
      exists({ text: 'groups', size: MAX_GROUPS, cost: 1, uses: ['groups'] }, 'group', ofBoundedLength(GROUP, groups)),
    ]),
  ]);
}

/** A kubelet, by the API server's rule (`NodeIdentity` of k8s.io/kubernetes/pkg/auth/nodeidentifier). */
export const IS_NODE: Expression = all([
  other('user.startsWith("system:node:")', 30, ['user']),
  other('"system:nodes" in groups', MAX_GROUPS, ['groups']),
]);

function ofBoundedLength(name: Operand, patterns: readonly string[]): Expression {
  const { text, uses } = name;
  if (patterns.some((pattern) => /^\*+$/.test(pattern))) return matchesAny(name, ['*']);
  return any([
    isOneOf(
      name,
      [...new Set(patterns)].filter((pattern) => !isPattern(pattern) && pattern.isWellFormed()),
    ),
    all([other(`size(${text}) <= ${MAX_NAME_LENGTH}`, 3, uses), matchesAny(name, patterns.filter(isPattern))]),
  ]);
}

const KEY_COST = 3;
const VALUE_COST = 10;

/** True when the labels, a map in CEL, satisfy the whole selector: {@link selects} in CEL. */
export function selectsIn(labels: string, selector: LabelSelector | undefined): Expression {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  return all([
    ...Object.entries(matchLabels).map(([key, value]) =>
      requirement(labels, { key, operator: 'In', values: [value ?? ''] }),
    ),
    ...matchExpressions.map((expression) => requirement(labels, expression)),
  ]);
}

function requirement(labels: string, { key, operator, values = [] }: LabelSelectorRequirement): Expression {
  // Neither in a key of a selector nor in one of an object: nothing can carry such a label.
  const exists = key.isWellFormed() ? other(`${literal(key)} in ${labels}`, KEY_COST, [labels]) : any([]);
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

function valueIn(labels: string, key: string, values: readonly string[]): Expression {
  const possible = values.filter((value) => value.isWellFormed());
  const [first] = possible;
  if (first === undefined) return any([]);
  const value = `${labels}[${literal(key)}]`;
  const comparison = possible.length === 1 ? `== ${literal(first)}` : `in ${literals(possible)}`;
  return other(`${value} ${comparison}`, VALUE_COST + possible.length, [labels]);
}

/** The labels of the node before an update. */
export const LABELS_BEFORE: Variable = { name: 'oldLabels', definition: labelsOf('oldObject') };
/** The labels of the object as it will be. */
export const LABELS: Variable = { name: 'labels', definition: labelsOf('object') };

function labelsOf(object: 'object' | 'oldObject'): Expression {
  return other(`has(${object}.metadata.labels) ? ${object}.metadata.labels : {}`, 40);
}
