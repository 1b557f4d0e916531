import { all, FALSE, not, TRUE, type Variable } from '../cel/expression.ts';
import { isIn, those } from '../cel/lists.ts';
import { REMOVES_TAINTS } from '../cel-rules/taints.ts';
import { ALLOW_REMOVAL_ANNOTATION, clearsEntriesAtRegistration } from '../judge/allow-removal.ts';
import { setsTaintsAgain } from '../judge/node-boot.ts';
import { resultKey } from '../judge/outcomes.ts';
import { isPattern, matchesPattern, patternsOverlap } from '../kubernetes/pattern.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import { byName, type CompiledTaintPolicy, isEnforced } from '../policy/policy-set.ts';
import type { TaintRule } from '../policy/taint-rule.ts';
import { type Assembled, conclude, validating } from './assemble.ts';
import { nativeName } from './native-parts.ts';
import { type NativeLimit, type NativeTranslation, NODE_UPDATES, type Target } from './native-policy.ts';
import {
  ALL_VIOLATIONS,
  auditMessage,
  NO_VIOLATIONS,
  refusalMessage,
  reportActions,
  violationVariables,
  writtenOut,
} from './node-messages.ts';
import { disallowance, registration, registrationReport } from './node-registration.ts';
import { restoration } from './node-restoration.ts';
import { selection } from './node-selection.ts';
import { type AmongPolicies, allowedByAnnotation, updateVariables } from './node-variables.ts';

/**
 * The validation of an update. A Deny policy refuses removals of protected taints. A Restore policy checks that the mutation restored them. An Audit
 * policy reports them.
 */
function protection(context: AmongPolicies, target: Target): Assembled[] {
  const { policy } = context;
  const { name, mode, failurePolicy, allowsRemovalByAnnotation, protectionRules } = policy;
  if (protectionRules.length === 0) return [];
  const { variables, protectedTaints, exempt } = updateVariables(context);
  const audit = mode === 'Audit';
  const allowed = allowedByAnnotation(protectedTaints);
  const allowedByExemption: Variable = { name: 'allowedByExemption', definition: those(protectedTaints, exempt) };
  const violations = those(protectedTaints, all([not(exempt), allowsRemovalByAnnotation ? not(isIn(allowed)) : TRUE]));
  return validating({
    name: nativeName(name, audit ? 'report' : 'protect'),
    failurePolicy,
    resourceRules: NODE_UPDATES,
    objectSelector: policy.nodeSelector,
    conditions: { 'removes-taints': REMOVES_TAINTS },
    variables: [...variables, allowed, allowedByExemption, ...violationVariables(violations)],
    actions: audit ? reportActions(target.purpose) : ['Deny'],
    validations: [{ holds: NO_VIOLATIONS, message: audit ? auditMessage(policy) : refusalMessage(policy, target) }],
    auditAnnotations: {
      [resultKey(audit ? 'Audited' : 'Denied')]: ALL_VIOLATIONS,
      ...(allowsRemovalByAnnotation ? { [resultKey('AllowedByAnnotation')]: writtenOut(allowed) } : {}),
      ...(exempt === FALSE ? {} : { [resultKey('AllowedByExemption')]: writtenOut(allowedByExemption) }),
    },
  });
}

/**
 * A TaintPolicy as native policies.
 *
 * @param among all policies in force, with or without this one
 */
export function translateNodes(
  policy: CompiledTaintPolicy,
  among: readonly CompiledTaintPolicy[],
  target: Target,
): NativeTranslation {
  const others = among.filter(({ name }) => name !== policy.name);
  const protecting = others
    .filter((other) => isEnforced(other) && rulesOverlap(other.protectionRules, policy.protectionRules))
    .toSorted(byName);
  const context: AmongPolicies = { policy, among: [policy, ...others.toSorted(byName)] };
  return conclude(
    policy,
    [
      ...(target.mutates && isEnforced(policy) ? restoration(context, protecting) : []),
      ...(target.mutates ? [...disallowance(policy), ...registration(policy, others), ...selection(context)] : []),
      ...protection(context, target),
      ...registrationReport(policy, target),
    ],
    limitsOf(policy, target),
  );
}

/** True unless no taint can match a rule of both lists. */
export function rulesOverlap(some: readonly TaintRule[], others: readonly TaintRule[]): boolean {
  return some.some((a) =>
    others.some(
      (b) =>
        mayBeEqual(a.effect, b.effect) &&
        mayBeEqual(a.value, b.value) &&
        patternsOverlap(a.key, b.key) &&
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
  const { mode, allowsRemovalByAnnotation, exemptsUsers } = policy;
  const audit = mode === 'Audit';
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
    policy.ensured.length > 0 &&
      !audit &&
      !mutates && {
        field: 'spec.taints',
        message:
          'without MutatingAdmissionPolicy, a node that registers gets no required or startup taint: missing ones are reported',
      },
    policy.required.length > 0 &&
      !audit && {
        field: 'spec.taints',
        message:
          'a node gets missing required taints only when it registers, or when a change of its labels makes the policy select it',
      },
    clearsEntriesAtRegistration(policy) &&
      !mutates && {
        field: 'spec.removalByAnnotation',
        message: `without MutatingAdmissionPolicy, a node that registers keeps its own annotation ${ALLOW_REMOVAL_ANNOTATION}`,
      },
    policy.untilReady.length > 0 &&
      !audit && { field: 'spec.taints', message: 'no startup taint is removed when its DaemonSets are ready' },
    setsTaintsAgain(policy) &&
      !audit && { field: 'spec.taints', message: 'no startup taint is set again after a reboot' },
    allowsRemovalByAnnotation &&
      purpose === 'Alone' && {
        field: 'spec.removalByAnnotation',
        message: `an entry of ${ALLOW_REMOVAL_ANNOTATION} stays until a user deletes it, or sets the taint again`,
      },
    exemptsUsers && {
      field: 'spec.exempt',
      message:
        'patterns exempt no user with a name of more than 256 characters, and groups exempt no user in more than 64 groups',
    },
  ];
  return limits.filter((limit) => limit !== false);
}
