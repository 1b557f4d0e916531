import { all, any, type Expression, FALSE, not, reference, type Variable } from '../cel/expression.ts';
import { EMPTY, each, isEmpty, those, together } from '../cel/lists.ts';
import { ADDITIONS, additionVariables } from '../conditions/guarded-taints.ts';
import { additionRulesOf, conditionsOf } from '../conditions/node-policies.ts';
import { LABELS_CHANGE } from '../conditions/node-update.ts';
import { isProtected } from '../conditions/protected-taints.ts';
import { ADDS_TAINTS, DROPS_TAINTS, IDENTITY, notAmong } from '../conditions/taints.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { CompiledTaintRule } from '../policy/taint-rule.ts';
import { type Assembled, type ValidatingParts, validating } from './assemble.ts';
import type { Target } from './native-policy.ts';
import { leavingMessage, NODE_UPDATES, reportActions, textsOf, writtenOut } from './node-messages.ts';
import {
  ANNOUNCED,
  ANNOUNCED_IDS,
  exemptedBy,
  holdersOf,
  isHeldBy,
  isNamedIn,
  NOTICE,
  updateVariables,
} from './node-variables.ts';

/** A policy, and those that decide with it which added taints are refused or taken out, and which dropped ones go. */
export interface Guarding {
  readonly policy: CompiledTaintPolicy;
  /** All that there are, in whatever mode: what one of them requires is no intruder. */
  readonly among: readonly CompiledTaintPolicy[];
  /** In mode Deny, with an addition rule for a taint that one of the policy's addition rules means. */
  readonly denying: readonly CompiledTaintPolicy[];
  /** Not in mode Audit, protecting a taint of the same key and effect as one of its addition rules; perhaps the policy itself. */
  readonly keeping: readonly CompiledTaintPolicy[];
  /** In mode Restore, with an addition rule for the key and effect of one of its rules; perhaps the policy itself. */
  readonly reverting: readonly CompiledTaintPolicy[];
}

/** @param mayMean whether some taint may be meant by a rule of both lists */
export function guardingOf(
  policy: CompiledTaintPolicy,
  among: readonly CompiledTaintPolicy[],
  mayMean: (some: readonly CompiledTaintRule[], others: readonly CompiledTaintRule[]) => boolean,
): Guarding {
  const { name, additionRules, rules } = policy;
  const withoutValues = (list: readonly CompiledTaintRule[]) => list.map(({ value: _, ...rule }) => rule);
  const others = among.filter((one) => one.name !== name);
  const everybody = [policy, ...others];
  return {
    policy,
    among: everybody,
    denying: others.filter((one) => one.mode === 'Deny' && mayMean(one.additionRules, additionRules)),
    keeping: everybody.filter(
      (one) => one.mode !== 'Audit' && mayMean(withoutValues(one.rules), withoutValues(additionRules)),
    ),
    reverting: everybody.filter(
      (one) => one.mode === 'Restore' && mayMean(withoutValues(one.additionRules), withoutValues(rules)),
    ),
  };
}

/** True for an update that may be against the policy: it drops a taint, or adds one that is guarded. */
export function changesTaints({ additionRules }: CompiledTaintPolicy): Readonly<Record<string, Expression>> {
  return additionRules.length === 0
    ? { 'drops-taints': DROPS_TAINTS }
    : { 'changes-taints': any([DROPS_TAINTS, ADDS_TAINTS]) };
}

/** The added taints that the policy guards: of them all, `guarded`; of somebody whom it does not exempt, `intruding`. */
export function intruders(
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
    { name: 'guarded', definition: those(ADDITIONS, isProtected(additionRules)) },
    { name: 'intruding', definition: those('guarded', not(exemptedBy(policy))) },
  ];
}

/** What {@link restoration} has to do about additions. */
export interface Reverting {
  readonly variables: readonly Variable[];
  /** The intruders that the policy takes out, the list `reverted`; EMPTY for none. */
  readonly reverted: Expression;
  /** True for a taint `t` whose value changes back, so that it does not go. */
  readonly stays: Expression;
}

const KEPT_IDS = 'keptIds';
const REVERTED_IDS = 'allRevertedIds';

/**
 * What was dropped is decided first: a value that is kept, or whose drop is refused, is none that was added. And what another
 * policy refuses to have added is not mended either.
 */
export function reversion(guarding: Guarding): Reverting {
  const { policy, denying, keeping, reverting } = guarding;
  const isGuarding = policy.additionRules.length > 0;
  if (!isGuarding && reverting.length === 0) {
    return { variables: [], reverted: EMPTY, stays: FALSE };
  }
  const announced = isNamedIn(ANNOUNCED);
  const deniers = holdersOf(denying, { prefix: 'denies', rules: additionRulesOf });
  const keepers = holdersOf(keeping, { prefix: 'keeps' });
  const reverters = holdersOf(reverting, { prefix: 'reverts', rules: additionRulesOf });
  const isRestoring = isGuarding && policy.mode === 'Restore';
  const reverted = isRestoring
    ? those('intruding', all([not(isHeldBy(deniers, FALSE)), notAmong(IDENTITY, KEPT_IDS)]))
    : EMPTY;
  return {
    reverted,
    stays: reverting.length === 0 ? FALSE : not(notAmong(IDENTITY, REVERTED_IDS)),
    variables: [
      ...intruders(guarding, additionRulesOf(reverting)),
      ...[deniers, keepers, reverters].flatMap((holders) => holders.flatMap(({ binds }) => binds.variables)),
      { name: 'kept', definition: those('dropped', isHeldBy(keepers, announced)) },
      { name: KEPT_IDS, definition: each('kept', IDENTITY) },
      { name: 'allReverted', definition: those(ADDITIONS, isHeldBy(reverters, FALSE)) },
      { name: REVERTED_IDS, definition: each('allReverted', IDENTITY) },
    ],
  };
}

/** The list of taints in which to put back what was dropped, `mended`, and what is to be in it, `put`. */
export const MENDING: readonly Variable[] = [
  { name: 'revertedIds', definition: each('reverted', IDENTITY) },
  { name: 'back', definition: those('before', not(notAmong(IDENTITY, 'revertedIds'))) },
  {
    name: 'mended',
    definition: those('after', any([notAmong(IDENTITY, 'revertedIds'), not(notAmong(IDENTITY, 'beforeIds'))])),
  },
  { name: 'put', definition: together([reference('restored'), reference('back')]) },
];

/** The validation of an update that changes labels: who is not exempt must not take a node with such a taint out of the policy. */
export function unselection(policy: CompiledTaintPolicy, { purpose }: Target): Assembled[] {
  const { name, mode, failurePolicy, removableByAnnotation, unselectionRules, nodeSelector } = policy;
  if (unselectionRules.length === 0) return [];
  const audit = mode === 'Audit';
  const { before, after } = conditionsOf(policy).selects;
  const held = all([
    isProtected(unselectionRules),
    ...(removableByAnnotation ? [not(isNamedIn(ANNOUNCED))] : []),
    not(exemptedBy(policy)),
  ]);
  const texts = textsOf('held');
  const parts: ValidatingParts = {
    name: `${name}.leave.taintkeeper.dev`,
    failurePolicy,
    resourceRules: NODE_UPDATES,
    objectSelector: nodeSelector,
    conditions: { 'leaves-the-policy': all([LABELS_CHANGE, before, not(after)]) },
    variables: [...updateVariables(policy), { name: 'held', definition: those('after', held) }, ...texts.variables],
    actions: audit ? reportActions(purpose) : ['Deny'],
    validations: [{ holds: isEmpty('held'), message: leavingMessage(policy, texts) }],
    auditAnnotations: { [audit ? 'unselection-audited' : 'unselection-denied']: writtenOut('held') },
  };
  return validating(parts);
}
