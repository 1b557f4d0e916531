import { expect, it } from 'vitest';
import { requiredTaintWarnings } from '../../../../src/judge/policy/required-taint-warnings.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import { policySet } from '../../policy/policies.ts';

it('a DaemonSet with more tolerations than a real one has is not compared with required taints', () => {
  const awaited = { namespace: 'kube-system', name: 'x' };
  const taints: TaintPolicySpec['taints'] = [
    { key: 'a', effect: 'NoSchedule', ensure: 'UntilReady', readyWhen: { daemonSets: [awaited] } },
    { key: 'b', effect: 'NoSchedule', ensure: 'Always' },
  ];
  const [policy] = policySet({ taint: { p: { mode: 'Restore', taints } } }).taintPolicies;
  if (!policy) throw new Error('there is no policy');
  const warningsWith = (count: number) => {
    const tolerations = Array(count).fill({ key: 'a', operator: 'Exists' });
    const daemonSet = { ...awaited, labels: {}, annotations: {}, tolerations, hostNetwork: false, deleting: false };
    return requiredTaintWarnings(policy, [], () => daemonSet);
  };
  expect(warningsWith(256)).toEqual(['taint b:NoSchedule of this policy is not tolerated by DaemonSet kube-system/x']);
  expect(warningsWith(257)).toEqual([]);
});
