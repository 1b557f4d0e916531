import type { Policy, TaintPolicy, TolerationPolicy } from './policy.ts';
import { compileRecoveryPolicy } from './recovery-policy.ts';
import type { TaintMode, TaintPolicySpec } from './taint-policy.ts';

/** A policy that can have a backstop. */
export type BackedPolicy = TaintPolicy | TolerationPolicy;

/** Whether the policy asks for native policies under the webhook. */
function asksForBackstop(policy: Policy): policy is BackedPolicy {
  return policy.kind !== 'RecoveryPolicy' && policy.spec.backstop === 'Native';
}

/**
 * What native policies are for, as a condition of the status of our policy names it. Backstop: they do what the webhook does.
 * Authorization: they ask who may tolerate, which the webhook never does.
 */
export type NativePurpose = 'Backstop' | 'Authorization';

/** What asks for them in a policy. */
export const NATIVE_ASKED_BY: Readonly<Record<NativePurpose, string>> = {
  Backstop: 'backstop: Native',
  Authorization: 'tolerate: Authorized',
};

/** What the policy asks native policies for, if anything. */
export function nativePurposesOf(policy: Policy): NativePurpose[] {
  const authorizes =
    policy.kind === 'TaintPolicy' && policy.spec.taints.some(({ tolerate }) => tolerate === 'Authorized');
  return [
    ...(asksForBackstop(policy) ? (['Backstop'] as const) : []),
    ...(authorizes ? (['Authorization'] as const) : []),
  ];
}

/** Whether a native policy of it puts taints back; `mode` is the one in force. */
export function restoresNatively({ backstop }: TaintPolicySpec, mode: TaintMode): boolean {
  return backstop === 'Native' && mode === 'Restore';
}

/** The policy as it is where every policy is taken to be in mode Audit. What an Audit policy must not say is left out. */
export function inAudit(policy: BackedPolicy): BackedPolicy {
  switch (policy.kind) {
    case 'TaintPolicy': {
      const { failurePolicy: _, authorization, ...spec } = policy.spec;
      const asked = authorization ? { authorization: { ...authorization, mode: 'Audit' as const } } : {};
      return { ...policy, spec: { ...spec, ...asked, mode: 'Audit' } };
    }
    case 'TolerationPolicy': {
      const { existing: _, ...spec } = policy.spec;
      return { ...policy, spec: { ...spec, mode: 'Audit' } };
    }
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
  for (const purpose of nativePurposesOf(policy)) asked.push({ right: 'nativePolicies', by: NATIVE_ASKED_BY[purpose] });
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
