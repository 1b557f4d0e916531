import { asksForNatives, NATIVE_ASKED_BY } from './backstop.ts';
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

export interface AskedRight {
  readonly right: OptionalRight;
  /** The part of the policy that needs it, such as `existing: Patch`. */
  readonly by: string;
}

/**
 * The rights without which a policy is not fully enforced.
 * @param audit every policy counts as mode Audit
 */
export function askedRights(policy: Policy, audit: boolean): AskedRight[] {
  const asked: AskedRight[] = [];
  if (asksForNatives(policy)) asked.push({ right: 'nativePolicies', by: NATIVE_ASKED_BY[policy.kind] });
  if (policy.kind === 'TaintPolicy') {
    const waits = policy.spec.taints.flatMap(({ readyWhen }) => (readyWhen ? partsOf(readyWhen) : []));
    const first = waits.find(needDaemonSets);
    if (first) {
      const by = first.daemonSets.length > 0 ? 'readyWhen.daemonSets' : 'readyWhen.allDaemonSets';
      asked.push({ right: 'listPods', by });
    }
    if (waits.some(({ csiDrivers }) => csiDrivers.length > 0)) {
      asked.push({ right: 'listCsiNodes', by: 'readyWhen.csiDrivers' });
    }
  }
  // Not in mode Audit: see the constraints of a TolerationPolicy.
  if (policy.kind === 'TolerationPolicy' && !audit && policy.spec.existing === 'Patch') {
    asked.push({ right: 'patchDaemonSets', by: 'existing: Patch' });
  }
  if (policy.kind === 'RecoveryPolicy') {
    const by = 'a RecoveryPolicy';
    asked.push({ right: 'watchPods', by });
    if (!audit && modeOf(policy) === 'Recover') asked.push({ right: 'deletePods', by });
  }
  return asked;
}
