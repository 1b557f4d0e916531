import { NATIVE_NEEDED_BY, needsNativePolicies } from './backstop.ts';
import { modeOf, type Policy } from './policy.ts';
import { needDaemonSets, partsOf } from './ready-when.ts';

/** Rights that are off by default: the default policies need none of them. */
export type OptionalRight =
  | 'nativePolicies'
  | 'patchDaemonSets'
  | 'watchPods'
  | 'deletePods'
  | 'listPods'
  | 'listCsiNodes'
  | 'listNodePools'
  | 'listMachineDeployments';

export interface RequiredRight {
  readonly right: OptionalRight;
  /** The part of the policy that needs it, such as `existing: Patch`. */
  readonly by: string;
}

/**
 * The rights without which a policy is not fully enforced.
 * @param audit every policy counts as mode Audit
 */
export function requiredRights(policy: Policy, audit: boolean): RequiredRight[] {
  const required: RequiredRight[] = [];
  if (needsNativePolicies(policy)) required.push({ right: 'nativePolicies', by: NATIVE_NEEDED_BY[policy.kind] });
  if (policy.kind === 'TaintPolicy') {
    const waits = policy.spec.taints.flatMap(({ readyWhen }) => (readyWhen ? partsOf(readyWhen) : []));
    const first = waits.find(needDaemonSets);
    if (first) {
      const by = first.daemonSets.length > 0 ? 'readyWhen.daemonSets' : 'readyWhen.allDaemonSets';
      required.push({ right: 'listPods', by });
    }
    if (waits.some(({ csiDrivers }) => csiDrivers.length > 0)) {
      required.push({ right: 'listCsiNodes', by: 'readyWhen.csiDrivers' });
    }
  }
  // Not in mode Audit: see the constraints of a TolerationPolicy.
  if (policy.kind === 'TolerationPolicy' && !audit && policy.spec.existing === 'Patch') {
    required.push({ right: 'patchDaemonSets', by: 'existing: Patch' });
  }
  if (policy.kind === 'RecoveryPolicy') {
    const by = 'a RecoveryPolicy';
    required.push({ right: 'watchPods', by });
    if (!audit && modeOf(policy) === 'Recover') required.push({ right: 'deletePods', by });
  }
  return required;
}
