import { isPattern } from '../pattern.ts';
import { all, any, type Expression, exists, other, type Variable } from './expression.ts';
import { isOneOf, matchesAny, type Operand } from './pattern.ts';

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
