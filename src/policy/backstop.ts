import type { Policy, RecoveryPolicy } from './policy.ts';

/** A policy that native policies can express, in part or in whole. */
export type NativelyExpressible = Exclude<Policy, RecoveryPolicy>;

/** The reason for native policies, by kind. They are the only effect of a TolerationRestriction. */
export const NATIVE_NEEDED_BY: Readonly<Record<NativelyExpressible['kind'], string>> = {
  TaintPolicy: 'backstop: Native',
  TolerationPolicy: 'backstop: Native',
  TolerationRestriction: 'a TolerationRestriction',
};

/** Whether the leader writes native policies for it. */
export function needsNativePolicies(policy: Policy): policy is NativelyExpressible {
  switch (policy.kind) {
    case 'TaintPolicy':
    case 'TolerationPolicy':
      return policy.spec.backstop === 'Native';
    case 'TolerationRestriction':
      return true;
    case 'RecoveryPolicy':
      return false;
  }
}

/** The policy with every policy in mode Audit. Fields that are invalid in an Audit policy are left out. */
export function inAudit(policy: NativelyExpressible): NativelyExpressible {
  switch (policy.kind) {
    case 'TaintPolicy': {
      const { failurePolicy: _, ...spec } = policy.spec;
      return { ...policy, spec: { ...spec, mode: 'Audit' } };
    }
    case 'TolerationPolicy': {
      const { existing: _, ...spec } = policy.spec;
      return { ...policy, spec: { ...spec, mode: 'Audit' } };
    }
    case 'TolerationRestriction':
      return { ...policy, spec: { ...policy.spec, mode: 'Audit' } };
  }
}
