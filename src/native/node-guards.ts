import { all, any, type Expression, FALSE, not, reference, type Variable } from '../cel/expression.ts';
import { EMPTY, each, isEmpty, those, together } from '../cel/lists.ts';
import { additionRulesOf, conditionsOf } from '../conditions/node-policies.ts';
import { LABELS_CHANGE } from '../conditions/node-update.ts';
import { isProtected } from '../conditions/protected-taints.ts';
import { ADDITIONS, additionVariables } from '../conditions/restricted-additions.ts';
import { ADDS_TAINTS, IDENTITY, notAmong, REMOVES_TAINTS } from '../conditions/taints.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { CompiledTaintRule } from '../policy/taint-rule.ts';
import { type Assembled, type ValidatingParts, validating } from './assemble.ts';
import type { Target } from './native-policy.ts';
import { leavingMessage, NODE_UPDATES, reportActions, textsOf, writtenOut } from './node-messages.ts';
import {
  ANNOUNCED,
  ANNOUNCED_IDS,
  exemptedBy,
  isNamedIn,
  isProtectedByAny,
  NOTICE,
  policyGroups,
  updateVariables,
} from './node-variables.ts';

/** A policy, and the policies that decide with it which added taints are refused or removed, and which taints may be removed. */
export interface Guarding {
  readonly policy: CompiledTaintPolicy;
  /** All policies, in any mode: a taint that one of them requires is no restricted addition. */
  readonly among: readonly CompiledTaintPolicy[];
  /** In mode Deny, with an addition rule for a taint that one of the policy's addition rules matches. */
  readonly denying: readonly CompiledTaintPolicy[];
  /** Not in mode Audit, and protects a taint of the same key and effect as one of its addition rules. Perhaps the policy itself. */
  readonly keeping: readonly CompiledTaintPolicy[];
  /** In mode Restore, with an addition rule for the key and effect of one of its rules. Perhaps the policy itself. */
  readonly reverting: readonly CompiledTaintPolicy[];
}

/** @param mayMean whether a rule of both lists may match one taint */
export function guardingOf(
  policy: CompiledTaintPolicy,
  among: readonly CompiledTaintPolicy[],
  mayMean: (some: readonly CompiledTaintRule[], others: readonly CompiledTaintRule[]) => boolean,
): Guarding {
  const { name, additionRules, removalRules } = policy;
  const withoutValues = (list: readonly CompiledTaintRule[]) => list.map(({ value: _, ...rule }) => rule);
  const others = among.filter((one) => one.name !== name);
  const everybody = [policy, ...others];
  return {
    policy,
    among: everybody,
    denying: others.filter((one) => one.mode === 'Deny' && mayMean(one.additionRules, additionRules)),
    keeping: everybody.filter(
      (one) => one.mode !== 'Audit' && mayMean(withoutValues(one.removalRules), withoutValues(additionRules)),
    ),
    reverting: everybody.filter(
      (one) => one.mode === 'Restore' && mayMean(withoutValues(one.additionRules), withoutValues(removalRules)),
    ),
  };
}

/** True for an update that may violate the policy: it removes a taint, or adds one whose addition is restricted. */
export function changesTaints({ additionRules }: CompiledTaintPolicy): Readonly<Record<string, Expression>> {
  return additionRules.length === 0
    ? { 'removes-taints': REMOVES_TAINTS }
    : { 'changes-taints': any([REMOVES_TAINTS, ADDS_TAINTS]) };
}

/** `restrictedAdditions`: the added taints whose addition the policy restricts. `unexcusedAdditions`: those of a user whom it does not exempt. */
export function restrictedAdditions(
  { policy, among }: Pick<Guarding, 'policy' | 'among'>,
  more: readonly CompiledTaintRule[] = [],
) {
  const { additionRules } = policy;
  if (additionRules.length + more.length === 0) return [];
  return [
    ANNOUNCED_IDS,
    ...additionVariables(among, [...additionRules, ...more], {
      withValue: any([isNamedIn(ANNOUNCED), not(notAmong(NOTICE, ANNOUNCED.name))]),
      withAnyValue: not(notAmong(IDENTITY, ANNOUNCED_IDS.name)),
    }),
    { name: 'restrictedAdditions', definition: those(ADDITIONS, isProtected(additionRules)) },
    { name: 'unexcusedAdditions', definition: those('restrictedAdditions', not(exemptedBy(policy))) },
  ];
}

/** The additions that {@link restoration} has to revert. */
export interface Reverting {
  readonly variables: readonly Variable[];
  /** The taints that the policy removes again, the list `reverted`. EMPTY if there are none. */
  readonly reverted: Expression;
  /** True for a taint `t` whose value changes back, so that it is not removed. */
  readonly stays: Expression;
}

const KEPT_IDS = 'keptIds';
const REVERTED_IDS = 'allRevertedIds';

/**
 * Removals are decided first: a value that is kept, or whose removal is refused, is not an addition. An addition that another policy
 * refuses is not reverted either.
 */
export function reversion(guarding: Guarding): Reverting {
  const { policy, denying, keeping, reverting } = guarding;
  const isGuarding = policy.additionRules.length > 0;
  if (!isGuarding && reverting.length === 0) {
    return { variables: [], reverted: EMPTY, stays: FALSE };
  }
  const announced = isNamedIn(ANNOUNCED);
  const deniers = policyGroups(denying, { prefix: 'denies', rules: additionRulesOf });
  const keepers = policyGroups(keeping, { prefix: 'keeps' });
  const reverters = policyGroups(reverting, { prefix: 'reverts', rules: additionRulesOf });
  const isRestoring = isGuarding && policy.mode === 'Restore';
  const reverted = isRestoring
    ? those('unexcusedAdditions', all([not(isProtectedByAny(deniers, FALSE)), notAmong(IDENTITY, KEPT_IDS)]))
    : EMPTY;
  return {
    reverted,
    stays: reverting.length === 0 ? FALSE : not(notAmong(IDENTITY, REVERTED_IDS)),
    variables: [
      ...restrictedAdditions(guarding, additionRulesOf(reverting)),
      ...[deniers, keepers, reverters].flatMap((holders) => holders.flatMap(({ binds }) => binds.variables)),
      { name: 'kept', definition: those('removed', isProtectedByAny(keepers, announced)) },
      { name: KEPT_IDS, definition: each('kept', IDENTITY) },
      { name: 'allReverted', definition: those(ADDITIONS, isProtectedByAny(reverters, FALSE)) },
      { name: REVERTED_IDS, definition: each('allReverted', IDENTITY) },
    ],
  };
}

/** The list of taints to which removed taints are added again, `repaired`, and the taints that it must contain, `put`. */
export const REPAIR: readonly Variable[] = [
  { name: 'revertedIds', definition: each('reverted', IDENTITY) },
  { name: 'back', definition: those('before', not(notAmong(IDENTITY, 'revertedIds'))) },
  {
    name: 'repaired',
    definition: those('after', any([notAmong(IDENTITY, 'revertedIds'), not(notAmong(IDENTITY, 'beforeIds'))])),
  },
  { name: 'put', definition: together([reference('restored'), reference('back')]) },
];

/** The validation of an update that changes labels: a user who is not exempt must not take a node with such a taint out of the policy. */
export function unselection(policy: CompiledTaintPolicy, { purpose }: Target): Assembled[] {
  const { name, mode, failurePolicy, allowsRemovalByAnnotation, unselectionRules, nodeSelector } = policy;
  if (unselectionRules.length === 0) return [];
  const audit = mode === 'Audit';
  const { before, after } = conditionsOf(policy).selects;
  const restricted = all([
    isProtected(unselectionRules),
    ...(allowsRemovalByAnnotation ? [not(isNamedIn(ANNOUNCED))] : []),
    not(exemptedBy(policy)),
  ]);
  const texts = textsOf('restricted');
  const parts: ValidatingParts = {
    name: `${name}.leave.taintkeeper.dev`,
    failurePolicy,
    resourceRules: NODE_UPDATES,
    objectSelector: nodeSelector,
    conditions: { 'leaves-the-policy': all([LABELS_CHANGE, before, not(after)]) },
    variables: [
      ...updateVariables(policy),
      { name: 'restricted', definition: those('after', restricted) },
      ...texts.variables,
    ],
    actions: audit ? reportActions(purpose) : ['Deny'],
    validations: [{ holds: isEmpty('restricted'), message: leavingMessage(policy, texts) }],
    auditAnnotations: { [audit ? 'unselection-audited' : 'unselection-denied']: writtenOut('restricted') },
  };
  return validating(parts);
}
