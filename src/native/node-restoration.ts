import { all, any, cel, choose, type Expression, FALSE, not, type Variable } from '../cel/expression.ts';
import { EMPTY, isIn, those, together } from '../cel/lists.ts';
import { ALLOW_REMOVAL_AFTER } from '../cel-rules/annotations.ts';
import { beginsToSelect, conditionsOf } from '../cel-rules/node-policies.ts';
import { isProtected } from '../cel-rules/protected-taints.ts';
import { IS_NODE } from '../cel-rules/selection.ts';
import {
  ADDED,
  ADDS_TAINTS,
  EXACT_NAME,
  exactName,
  isOneOfNames,
  NAME_WITHOUT_VALUE,
  nameWithoutValue,
  notAmong,
  REMOVES_TAINTS,
  TAINTS_AFTER,
} from '../cel-rules/taints.ts';
import { groupsBy } from '../collections/groups-by.ts';
import { endsEntries } from '../judge/allow-removal.ts';
import { sameTaint } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy, EnsuredTaint } from '../policy/compiled-taint-policy.ts';
import { isEnforced } from '../policy/enforcement.ts';
import { allowedByAnnotation } from './allow-removal-entries.ts';
import { type Assembled, mutating } from './assemble.ts';
import { nativeName } from './native-parts.ts';
import { NODE_UPDATES } from './native-policy.ts';
import { isProtectedByOthers, policyGroups } from './policy-groups.ts';
import { puttingTaints } from './put-taints.ts';
import { rewritingAllowRemoval } from './rewrite-allow-removal.ts';
import { type AmongPolicies, updateVariables } from './update-variables.ts';

const CONCERNS_TAINTS_OR_ENTRIES = any([REMOVES_TAINTS, all([cel(3)`${ALLOW_REMOVAL_AFTER} != ""`, ADDS_TAINTS])]);

/**
 * The mutation of an update. It restores taints that a Restore policy protects, unless a Deny policy refuses the update. It also keeps the annotation
 * `allow-removal` current: an entry ends when its taint is set, and an exempt user's removal of a required taint gets one. It does not patch a node's own
 * update, because the API server would then refuse all of it.
 *
 * @param others the other policies that may protect a taint of this one
 */
export function restoration(among: AmongPolicies, others: readonly CompiledTaintPolicy[]): Assembled[] {
  const { policy } = among;
  const { name, mode, allowsRemovalByAnnotation, protectionRules } = policy;
  if (protectionRules.length === 0) return [];
  const { variables, protectedTaints, exempt } = updateVariables(among);
  const groups = policyGroups(others);
  const denying = groups.filter((group) => group.mode === 'Deny');
  const allowed = allowedByAnnotation(protectedTaints);
  const isAllowed = allowsRemovalByAnnotation ? isIn(allowed) : FALSE;
  const isKept = isProtectedByOthers(denying, protectionRules, allowed);
  const restored: Variable = {
    name: 'restored',
    definition: mode === 'Restore' ? those(protectedTaints, all([not(exempt), not(isAllowed), not(isKept)])) : EMPTY,
  };
  const put = puttingTaints(TAINTS_AFTER, restored);
  const entries = rewritingAllowRemoval(
    endsEntries(policy) ? those(ADDED, isProtected(protectionRules)) : EMPTY,
    removedForGood(
      among,
      protectedTaints,
      all([exempt, not(isProtectedByOthers(groups, protectionRules, allowed))]),
      put.ids,
    ),
  );
  const operations = [...(restored.definition === EMPTY ? [] : [put.operations]), entries.operations];
  return mutating({
    name: nativeName(name, 'restore'),
    failurePolicy: 'Ignore',
    resourceRules: NODE_UPDATES,
    objectSelector: policy.nodeSelector,
    conditions: { 'removes-taints-or-ends-entries': CONCERNS_TAINTS_OR_ENTRIES, 'is-not-by-a-node': not(IS_NODE) },
    variables: [
      ...variables,
      ...groups.flatMap(({ binds }) => binds.variables),
      allowed,
      restored,
      ...put.variables,
      ...entries.variables,
    ],
    reinvocationPolicy: 'IfNeeded',
    // The API server writes and reads the whole node for each mutation.
    mutations: [together(operations)],
  });
}

/**
 * Those of the removed taints that fulfil the condition, which the policy requires and the node no longer carries: without an entry, the leader
 * would set them again. A taint of which a policy begins to require any value is not among them: see {@link selection}. `SPEC_CONSTRAINTS` of
 * policy/taint-policy-constraints.ts ensures that a policy which requires taints and exempts users reads entries.
 *
 * @param ids the names of the taints that the node has after the update
 */
function removedForGood(
  { policy, among }: AmongPolicies,
  protectedTaints: Variable,
  condition: Expression,
  ids: Variable,
): Expression {
  const others = among.filter((other) => other.name !== policy.name && isEnforced(other));
  const { before, after } = conditionsOf(policy).selects;
  const groups = groupsBy(
    policy.required.map((required) => ({ required, begins: beginsToBeRequired(required, others) })),
    ({ begins }) => begins.text,
  );
  const lists = groups.flatMap((alike) => {
    const [{ begins }] = alike;
    const required = alike.map((one) => one.required);
    const missing = those(protectedTaints, all([condition, isRequiredAndMissing(required, ids)]));
    return missing === EMPTY ? [] : [choose(all([before, after, not(begins)]), missing, EMPTY)];
  });
  return lists.length === 0 ? EMPTY : together(lists);
}

/** True for an update by which one of the policies that require the taint, with any value, begins to select the node. */
function beginsToBeRequired({ taint }: EnsuredTaint, policies: readonly CompiledTaintPolicy[]): Expression {
  const requiring = policies.filter(({ required }) => required.some((one) => sameTaint(one.taint, taint)));
  return any(requiring.map((one) => all(beginsToSelect(one))));
}

/** True for a removed taint `t` that is one of these, and that the node no longer carries. */
function isRequiredAndMissing(required: readonly EnsuredTaint[], ids: Variable): Expression {
  const exact = required.filter(({ anyValue }) => !anyValue).map(({ taint }) => taint);
  const withAnyValue = required.filter(({ anyValue }) => anyValue).map(({ taint }) => taint);
  return any([
    isOneOfNames(EXACT_NAME, exact.map(exactName)),
    all([isOneOfNames(NAME_WITHOUT_VALUE, withAnyValue.map(nameWithoutValue)), notAmong(NAME_WITHOUT_VALUE, ids)]),
  ]);
}
