import { all, type Expression, FALSE, not, TRUE } from '../cel/expression.ts';
import { EMPTY, isEmpty, isIn, those } from '../cel/lists.ts';
import { ALLOW_REMOVAL_ANNOTATION } from '../judge/allow-removal.ts';
import { isPattern, matchesPattern, overlap } from '../kubernetes/pattern.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import { byName, type CompiledTaintPolicy } from '../policy/policy-set.ts';
import { restricts, type TaintRule } from '../policy/taint-rule.ts';
import { oncePer } from '../runtime/once-per.ts';
import { type Assembled, conclude, validating } from './assemble.ts';
import type { NativeLimit, NativeTranslation, Target } from './native-policy.ts';
import { changesTaints, type Guarding, guardingOf, restrictedAdditions, unselection } from './node-guards.ts';
import {
  additionMessage,
  auditMessage,
  LOST,
  NODE_UPDATES,
  refusalMessage,
  reportActions,
  textsOf,
  writtenOut,
} from './node-messages.ts';
import { registration, registrationReport } from './node-registration.ts';
import { restoration } from './node-restoration.ts';
import { ANNOUNCED, ENTRIES, exemptedBy, isNamedIn, MAX_ALLOWED_REMOVALS, updateVariables } from './node-variables.ts';

/**
 * The validation of an update. A Deny policy refuses removals of protected taints and restricted additions. A Restore policy checks that the mutation
 * restored or removed them. An Audit policy reports them.
 */
function protection(guarding: Guarding, target: Target): Assembled[] {
  const { policy } = guarding;
  const { mutates, purpose } = target;
  const { name, mode, failurePolicy, allowsRemovalByAnnotation, removalRules, additionRules } = policy;
  const exempt = exemptedBy(policy);
  const audit = mode === 'Audit';
  // With taintkeeper in the cluster, mutation turns the announcement into a notice. Otherwise, mutation or the request itself deletes it.
  const isSpent = purpose === 'Alone' ? not(isNamedIn(ENTRIES)) : TRUE;
  const allowedByAnnotation = allowsRemovalByAnnotation
    ? those('protected', all([isNamedIn(ANNOUNCED), isSpent]))
    : EMPTY;
  const lost = those(
    'protected',
    all([not(exempt), allowsRemovalByAnnotation ? not(isIn('allowedByAnnotation')) : TRUE]),
  );
  const [keeps, restrictsAddition] = [removalRules.length > 0, additionRules.length > 0];
  const added = textsOf('unexcusedAdditions');
  const annotations: Record<string, Expression> = {
    ...(keeps ? { [audit ? 'audited' : 'denied']: LOST.all } : {}),
    ...(keeps && allowsRemovalByAnnotation ? { 'allowed-by-annotation': writtenOut('allowedByAnnotation') } : {}),
    ...(!keeps || exempt === FALSE ? {} : { exempt: writtenOut('excused') }),
    ...(restrictsAddition ? { [audit ? 'addition-audited' : 'addition-denied']: added.all } : {}),
    ...(!restrictsAddition || exempt === FALSE ? {} : { 'addition-exempt': writtenOut('excusedAdditions') }),
  };
  return validating({
    name: `${name}.${audit ? 'report' : 'protect'}.taintkeeper.dev`,
    failurePolicy,
    resourceRules: NODE_UPDATES,
    objectSelector: policy.nodeSelector,
    conditions: changesTaints(policy),
    variables: [
      ...updateVariables(policy),
      { name: 'allowedByAnnotation', definition: allowedByAnnotation },
      { name: 'excused', definition: those('protected', exempt) },
      { name: 'lost', definition: lost },
      ...LOST.variables,
      ...restrictedAdditions(guarding),
      { name: 'excusedAdditions', definition: those('restrictedAdditions', exempt) },
      ...added.variables,
    ],
    actions: audit ? reportActions(purpose) : ['Deny'],
    validations: [
      ...(keeps
        ? [{ holds: isEmpty('lost'), message: audit ? auditMessage(policy) : refusalMessage(policy, target) }]
        : []),
      ...(restrictsAddition
        ? [{ holds: isEmpty('unexcusedAdditions'), message: additionMessage(policy, added, mutates) }]
        : []),
    ],
    auditAnnotations: annotations,
  });
}

/**
 * A TaintPolicy as native policies.
 *
 * @param among all policies in force, with or without this one
 */
export function translateNodes(
  declared: CompiledTaintPolicy,
  among: readonly CompiledTaintPolicy[],
  target: Target,
): NativeTranslation {
  // The policy applies to pods only.
  if (
    declared.removalRules.length +
      declared.additionRules.length +
      declared.unselectionRules.length +
      declared.ensured.length ===
    0
  )
    return { policies: [], limits: [] };
  const policy = withoutWaiting(declared);
  const { removalRules, additionRules } = policy;
  // A policy that only restricts unselection does not check changes of taints.
  const concernsTaints = removalRules.length + additionRules.length > 0;
  const others = among.filter(({ name }) => name !== policy.name).map(withoutWaiting);
  const holding = others
    .filter(({ mode, removalRules }) => mode !== 'Audit' && rulesOverlap(removalRules, policy.removalRules))
    .toSorted(byName);
  const guarding = guardingOf(policy, others.toSorted(byName), rulesOverlap);
  return conclude(
    policy,
    [
      ...(concernsTaints && target.mutates && policy.mode !== 'Audit' ? restoration(guarding, holding, target) : []),
      ...(target.mutates ? registration(policy, others) : []),
      ...(concernsTaints ? protection(guarding, target) : []),
      ...unselection(policy, target),
      ...registrationReport(policy, target),
    ],
    limitsOf(declared, target),
  );
}

/**
 * The policy as native policies can enforce it. Only the records say which taints a key with "*" protects, and expressions cannot read those.
 */
const withoutWaiting = oncePer(
  (policy: CompiledTaintPolicy): CompiledTaintPolicy => ({
    ...policy,
    removalRules: policy.removalRules.filter(({ waits }) => !waits),
  }),
);

/** True unless no taint can match a rule of both lists. */
export function rulesOverlap(some: readonly TaintRule[], others: readonly TaintRule[]): boolean {
  return some.some((a) =>
    others.some(
      (b) =>
        mayBeEqual(a.effect, b.effect) &&
        mayBeEqual(a.value, b.value) &&
        overlap(a.key, b.key) &&
        !isBeyondPattern(a, b) &&
        !isBeyondPattern(b, a),
    ),
  );
}

function mayBeEqual(a: string | undefined, b: string | undefined): boolean {
  return a === undefined || b === undefined || a === b;
}

/** A pattern matches neither taints that Kubernetes, autoscalers or operators set and remove, nor excepted ones. */
function isBeyondPattern({ key }: TaintRule, { key: pattern, except = [] }: TaintRule): boolean {
  const isExcepted = () => except.some((one) => matchesPattern(one, key));
  return isPattern(pattern) && !isPattern(key) && (isTransientTaintKey(key) || isExcepted());
}

/** Everything that the TaintPolicy declares, or the program does for it, and the API server does not do. */
function limitsOf(policy: CompiledTaintPolicy, { mutates, purpose }: Target): NativeLimit[] {
  const { mode, allowsRemovalByAnnotation, exemptsUsers, nodeSelector, additionRules } = policy;
  const audit = mode === 'Audit';
  const present = policy.required.length > 0;
  const waits = policy.removalRules.some((rule) => rule.waits);
  const limits: (NativeLimit | false)[] = [
    mode === 'Restore' &&
      !mutates && {
        field: 'spec.mode',
        message:
          'without MutatingAdmissionPolicy, no taint is restored: an update that removes a protected taint is refused',
      },
    mode === 'Restore' &&
      mutates && {
        field: 'spec.mode',
        message: 'taints are restored without a warning to the requester, an Event or a metric',
      },
    !audit && {
      field: 'spec.taints',
      message: 'the taints of nodes are not recorded: they cannot be restored later',
    },
    waits && {
      field: 'spec.taints',
      message: 'a key with "*" restricts no removal: only the records of taintkeeper say which taints are established',
    },
    policy.ensured.length > 0 &&
      !audit &&
      !mutates && {
        field: 'spec.taints',
        message:
          'without MutatingAdmissionPolicy, a node that registers gets no required taint: a missing one is reported',
      },
    present &&
      !audit && {
        field: 'spec.taints',
        message: 'a node gets missing required taints only when it registers, not later',
      },
    policy.deletedNodeRetentionMs !== undefined && {
      field: 'spec.deletedNodeRetentionSeconds',
      message:
        'a node that was deleted and registers again does not get its earlier taints: its object does not list them',
    },
    allowsRemovalByAnnotation &&
      !mutates &&
      purpose === 'Alone' && {
        field: 'spec.removalByAnnotation',
        message: `without MutatingAdmissionPolicy, the request that removes the taint must also remove its entry from ${ALLOW_REMOVAL_ANNOTATION}`,
      },
    allowsRemovalByAnnotation && {
      field: 'spec.removalByAnnotation',
      message: `only the first ${MAX_ALLOWED_REMOVALS} entries of ${ALLOW_REMOVAL_ANNOTATION} are read, and an announcement is not recorded`,
    },
    mode === 'Restore' &&
      !mutates &&
      additionRules.length > 0 && {
        field: 'spec.taints',
        message:
          'without MutatingAdmissionPolicy, no added taint is removed: an update that adds a restricted taint is refused',
      },
    nodeSelector !== undefined &&
      policy.removalRules.some((rule) => !restricts(rule, 'Unselection')) && {
        field: 'spec.nodeSelector',
        message: 'a label change that ends the protection of a taint is not recorded',
      },
    exemptsUsers && {
      field: 'spec.exempt',
      message:
        'patterns exempt no user with a name of more than 256 characters, and groups exempt no user in more than 64 groups',
    },
  ];
  return limits.filter((limit) => limit !== false);
}
