import Type from 'typebox';
import type { Policy, TaintPolicy, TolerationPolicy } from './policy.ts';
import type { TaintMode, TaintPolicySpec } from './taint-policy.ts';

/** `spec.backstop`: what stands under the webhook. */
export const BackstopSchema = Type.Enum(['None', 'Native'], {
  default: 'None',
  description:
    'What holds while taintkeeper cannot be asked. Native: in the cluster, taintkeeper writes the policy once more in the API ' +
    "server's own language, as far as that goes (ValidatingAdmissionPolicy and MutatingAdmissionPolicy), and keeps it so; " +
    'the condition Backstop says what of it is in force. That takes the right to write such policies, which is off by default. ' +
    'None: nothing but failurePolicy.',
});

/** A policy that can have a backstop. */
export type BackedPolicy = TaintPolicy | TolerationPolicy;

/** Whether the policy asks for native policies under the webhook. */
export function asksForBackstop(policy: Policy): policy is BackedPolicy {
  return policy.kind !== 'RecoveryPolicy' && policy.spec.backstop === 'Native';
}

/** Whether a native policy of it puts taints back; `mode` is the one in force. */
export function restoresNatively({ backstop }: TaintPolicySpec, mode: TaintMode): boolean {
  return backstop === 'Native' && mode === 'Restore';
}

/** The policy as it is where every policy is taken to be in mode Audit. What an Audit policy must not say is left out. */
export function inAudit(policy: BackedPolicy): BackedPolicy {
  switch (policy.kind) {
    case 'TaintPolicy': {
      const { failurePolicy: _, ...spec } = policy.spec;
      return { ...policy, spec: { ...spec, mode: 'Audit' } };
    }
    case 'TolerationPolicy': {
      const { existing: _, ...spec } = policy.spec;
      return { ...policy, spec: { ...spec, mode: 'Audit' } };
    }
  }
}
