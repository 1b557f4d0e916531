import type { Policy, TaintPolicy, TolerationPolicy } from './policy.ts';
import { compileRecoveryPolicy } from './recovery-policy.ts';
import type { TaintMode, TaintPolicySpec } from './taint-policy.ts';

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

/** What taintkeeper is not permitted unless somebody says so: the default policies need none of it. */
export type OptionalRight =
  | 'nativePolicies'
  | 'patchDaemonSets'
  | 'watchPods'
  | 'deletePods'
  | 'listPods'
  | 'listNodePools'
  | 'listMachineDeployments';

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
  if (asksForBackstop(policy)) asked.push({ right: 'nativePolicies', by: 'backstop: Native' });
  if (policy.kind === 'TolerationPolicy') {
    const { mode, existing } = policy.spec;
    if (!audit && mode === 'Mutate' && existing === 'Patch') {
      asked.push({ right: 'patchDaemonSets', by: 'existing: Patch' });
    }
  }
  if (policy.kind === 'RecoveryPolicy') {
    const { mode, strategy } = compileRecoveryPolicy(policy.name, policy.spec, audit);
    asked.push({ right: 'watchPods', by: 'a RecoveryPolicy' });
    if (mode === 'Recover') {
      asked.push({ right: RIGHT_OF_STRATEGY[strategy], by: `strategy: ${strategy}` });
    }
  }
  return asked;
}

/** What freeing a pod takes. */
export const RIGHT_OF_STRATEGY = {
  DeletePod: 'deletePods',
  RestartRollout: 'patchDaemonSets',
} as const satisfies Record<string, OptionalRight>;
