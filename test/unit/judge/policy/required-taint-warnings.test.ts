import { expect, it } from 'vitest';
import { requiredTaintWarnings } from '../../../../src/judge/policy/required-taint-warnings.ts';
import type { Toleration } from '../../../../src/kubernetes/toleration.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../../src/policy/taint-rule.ts';
import { policySet } from '../../policy/policies.ts';

const AWAITED = { namespace: 'kube-system', name: 'x' };
const required = (key: string, more: Partial<TaintRule> = {}): TaintRule => ({
  ...{ key, effect: 'NoSchedule', ensure: 'Always' },
  ...more,
});
const tolerating = (key: string, more: Partial<Toleration> = {}): Toleration => ({ key, operator: 'Exists', ...more });

/** The warnings on a policy that requires these taints, and waits for a DaemonSet that tolerates its startup taint and these taints. */
function warningsOn(
  taints: readonly TaintRule[],
  tolerations: readonly Toleration[],
  companions: Readonly<Record<string, TaintPolicySpec>> = {},
): string[] {
  const waiting: TaintRule = {
    ...{ key: 'a', effect: 'NoSchedule', ensure: 'UntilReady' },
    readyWhen: { daemonSets: [AWAITED] },
  };
  const { taintPolicies } = policySet({
    taint: { ...companions, p: { mode: 'Restore', taints: [waiting, ...taints] } },
  });
  const policy = taintPolicies.find(({ name }) => name === 'p');
  if (!policy) throw new Error('there is no policy');
  const daemonSet = { ...AWAITED, labels: {}, annotations: {}, tolerations, hostNetwork: false, deleting: false };
  const others = taintPolicies.filter((one) => one !== policy);
  return requiredTaintWarnings(policy, others, () => daemonSet);
}

const warningAbout = (taint: string, of = 'this policy') => [
  `taint ${taint} of ${of} is not tolerated by DaemonSet kube-system/x`,
];

it('a DaemonSet with more tolerations than a real one has is not compared with required taints', () => {
  const warningsWith = (count: number) => warningsOn([required('b')], Array(count).fill(tolerating('a')));
  expect(warningsWith(256)).toEqual(warningAbout('b:NoSchedule'));
  expect(warningsWith(257)).toEqual([]);
});

it.each<{ why: string; taint: TaintRule; toleration: Toleration; warnings: string[] }>([
  { why: 'tolerates it', taint: required('b'), toleration: tolerating('b'), warnings: [] },
  {
    why: 'does not tolerate it',
    taint: required('b'),
    toleration: tolerating('c'),
    warnings: warningAbout('b:NoSchedule'),
  },
  {
    why: 'does not tolerate it, with an effect that keeps no pod off',
    taint: required('b', { effect: 'PreferNoSchedule' }),
    toleration: tolerating('c'),
    warnings: [],
  },
  {
    why: 'tolerates one value of it, which a node may have because the policy names none',
    taint: required('b'),
    toleration: tolerating('b', { operator: 'Equal', value: 'x' }),
    warnings: [],
  },
  {
    why: 'tolerates another value of it',
    taint: required('b', { value: 'y' }),
    toleration: tolerating('b', { operator: 'Equal', value: 'x' }),
    warnings: warningAbout('b=y:NoSchedule'),
  },
  {
    why: 'tolerates its value',
    taint: required('b', { value: 'x' }),
    toleration: tolerating('b', { operator: 'Equal', value: 'x' }),
    warnings: [],
  },
])('a required taint and a DaemonSet that $why', ({ taint, toleration, warnings }) => {
  expect(warningsOn([taint], [toleration])).toEqual(warnings);
});

it('the warning names the other policy that requires the taint', () => {
  const q: TaintPolicySpec = { mode: 'Restore', taints: [required('c')] };
  expect(warningsOn([required('b')], [tolerating('b')], { q })).toEqual(warningAbout('c:NoSchedule', 'TaintPolicy q'));
});

it('a DaemonSet is compared with a limited number of required taints', () => {
  const warningsWith = (count: number) => {
    const keys = Array.from({ length: count }, (_, index) => `tolerated-${index}`);
    return warningsOn(
      [...keys, 'b'].map((key) => required(key)),
      keys.map((key) => tolerating(key)),
    );
  };
  expect(warningsWith(31)).toEqual(warningAbout('b:NoSchedule'));
  expect(warningsWith(32)).toEqual([]);
});
