import { ALLOW_REMOVAL_ANNOTATION, clearsEntriesAtRegistration } from '../judge/allow-removal.ts';
import { setsTaintsAgain } from '../judge/node-boot.ts';
import type { CompiledTaintPolicy } from '../policy/compiled-taint-policy.ts';
import { isEnforced } from '../policy/enforcement.ts';
import { byName } from '../policy/policy-set.ts';
import { rulesOverlap } from '../policy/taint-rule-overlap.ts';
import { protection } from './node-protection.ts';
import { disallowance, registration, registrationReport } from './node-registration.ts';
import { restoration } from './node-restoration.ts';
import { selection } from './node-selection.ts';
import { type NativeLimit, type NativeTranslation, type Target, translationOf } from './translation.ts';
import type { AmongPolicies } from './update-variables.ts';

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
  return translationOf(
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
