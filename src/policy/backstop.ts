import type { Policy, RecoveryPolicy } from './policy.ts';
import { compileRecoveryPolicy } from './recovery-policy.ts';
import type { TaintMode, TaintPolicySpec } from './taint-policy.ts';

/** A policy that native policies can express, in part or in whole. */
export type NativelyExpressible = Exclude<Policy, RecoveryPolicy>;

/** What asks for native policies, by kind. Those of a TolerationRestriction are its only effect. */
export const NATIVE_ASKED_BY: Readonly<Record<NativelyExpressible['kind'], string>> = {
  TaintPolicy: 'backstop: Native',
  TolerationPolicy: 'backstop: Native',
  TolerationRestriction: 'a TolerationRestriction',
};

/** Whether the leader writes native policies for it. */
export function asksForNatives(policy: Policy): policy is NativelyExpressible {
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

/** Whether a native policy of it puts taints back; `mode` is the one in force. */
export function restoresNatively({ backstop }: TaintPolicySpec, mode: TaintMode): boolean {
  return backstop === 'Native' && mode === 'Restore';
}

/** The policy as it is where every policy is taken to be in mode Audit. What an Audit policy must not say is left out. */
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

/** What taintkeeper is not permitted unless somebody says so: the default policies need none of it. */
export type OptionalRight =
  | 'nativePolicies'
  | 'patchDaemonSets'
  | 'watchPods'
  | 'deletePods'
  | 'listPods'
  | 'listNodePools'
  | 'listMachineDeployments'
  | 'writeReports';

export interface AskedRight {
  readonly right: OptionalRight;
  /** What in the policy asks for it, such as `existing: Patch`. */
  readonly by: string;
}

/**
 * The rights without which a policy is not done as it says.
 * @param audit every policy is taken to be in mode Audit
 */
export function askedRights(policy: Policy, audit: boolean): AskedRight[] {
  const asked: AskedRight[] = [];
  if (asksForNatives(policy)) asked.push({ right: 'nativePolicies', by: NATIVE_ASKED_BY[policy.kind] });
  if (policy.kind === 'TaintPolicy' && !audit && policy.spec.taints.some(({ ensure }) => ensure === 'UntilReady')) {
    asked.push({ right: 'listPods', by: 'ensure: UntilReady' });
  }
  if (policy.kind === 'TolerationPolicy') {
    const { mode, existing } = policy.spec;
    if (!audit && mode === 'Mutate' && existing === 'Patch') {
      asked.push({ right: 'patchDaemonSets', by: 'existing: Patch' });
    }
  }
  if (policy.kind === 'RecoveryPolicy') {
    const by = 'a RecoveryPolicy';
    asked.push({ right: 'watchPods', by });
    const { mode } = compileRecoveryPolicy(policy.name, policy.spec, audit);
    if (mode === 'Recover') asked.push({ right: 'deletePods', by });
  }
  return asked;
}
