import { describe, expect, it } from 'vitest';
import { askedKeys, isPerson, type PodView } from '../../../src/coverage/authorization.ts';
import { readBuiltinPolicies } from '../../../src/files/builtin-policies.ts';
import { parsePolicies } from '../../../src/files/policy-files.ts';
import type { Toleration } from '../../../src/kubernetes/toleration.ts';
import { DEFAULT_EXCEPT_NAMESPACES } from '../../../src/policy/guards.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import { policySet } from '../policy/policies.ts';

type Rule = TaintPolicySpec['taints'][number];

function asked(pod: Partial<PodView>, rules: readonly Rule[], authorization?: TaintPolicySpec['authorization']) {
  const taints = rules.map((rule): Rule => ({ tolerate: 'Authorized', ...rule }));
  const { taintPolicies } = policySet({
    taint: { p: { mode: 'Deny', taints, ...(authorization ? { authorization } : {}) } },
  });
  const view = { namespace: 'team', serviceAccount: '', nodeName: '', tolerations: [], ...pod };
  return askedKeys(view, taintPolicies);
}

const keys = (tolerations: Toleration[], rules: readonly Rule[]) => asked({ tolerations }, rules).map(({ key }) => key);

describe('a pod is asked about a key', () => {
  it.each<{ why: string; toleration: Toleration; rule: Rule; is: boolean }>([
    { why: 'by its name', toleration: { key: 'a', operator: 'Exists' }, rule: { key: 'a' }, is: true },
    { why: 'by no key', toleration: { operator: 'Exists' }, rule: { key: 'a' }, is: true },
    { why: 'not by another', toleration: { key: 'b', operator: 'Exists' }, rule: { key: 'a' }, is: false },
    {
      why: 'with the effect of the rule',
      toleration: { key: 'a', operator: 'Exists', effect: 'NoSchedule' },
      rule: { key: 'a', effect: 'NoSchedule' },
      is: true,
    },
    {
      why: 'not with another effect',
      toleration: { operator: 'Exists', effect: 'NoExecute' },
      rule: { key: 'a', effect: 'NoSchedule' },
      is: false,
    },
    {
      why: 'with any effect, where the rule names none',
      toleration: { key: 'a', operator: 'Exists', effect: 'PreferNoSchedule' },
      rule: { key: 'a' },
      is: true,
    },
    {
      why: 'with the value of the rule',
      toleration: { key: 'a', value: 'v' },
      rule: { key: 'a', value: 'v' },
      is: true,
    },
    {
      why: 'not with another value',
      toleration: { key: 'a', operator: 'Equal', value: 'w' },
      rule: { key: 'a', value: 'v' },
      is: false,
    },
    {
      why: 'with any value, where the rule names none',
      toleration: { key: 'a', operator: 'Equal', value: 'w' },
      rule: { key: 'a' },
      is: true,
    },
    {
      why: 'with an operator that may be true of the value',
      toleration: { key: 'a', operator: 'Gt', value: '5' },
      rule: { key: 'a', value: '7' },
      is: true,
    },
    {
      why: 'not by what the DaemonSet controller gives to every pod',
      toleration: { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
      rule: { key: 'node.kubernetes.io/unschedulable' },
      is: false,
    },
    {
      why: 'not by what DefaultTolerationSeconds gives to every pod',
      toleration: {
        key: 'node.kubernetes.io/unreachable',
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: 300,
      },
      rule: { key: 'node.kubernetes.io/unreachable' },
      is: false,
    },
    {
      why: 'by more than that',
      toleration: { key: 'node.kubernetes.io/unreachable', operator: 'Exists' },
      rule: { key: 'node.kubernetes.io/unreachable' },
      is: true,
    },
  ])('$why: $toleration, $rule', ({ toleration, rule, is }) => {
    expect(keys([toleration], [rule])).toEqual(is ? ['a', rule.key].slice(-1) : []);
  });

  it('once, by all the rules that name it', () => {
    const rules: Rule[] = [{ key: 'a', effect: 'NoSchedule' }, { key: 'b' }, { key: 'a', effect: 'NoExecute' }];
    const tolerations: Toleration[] = [{ key: 'a', operator: 'Exists', effect: 'NoExecute' }];
    expect(asked({ tolerations }, rules)).toEqual([
      { policy: 'p', mode: 'Audit', key: 'a', fields: ['spec.taints[0]', 'spec.taints[2]'], tolerations },
    ]);
  });

  it.each<{ rule: Rule; is: boolean }>([
    { rule: { key: 'a' }, is: true },
    { rule: { key: 'a', effect: 'PreferNoSchedule' }, is: true },
    // The kubelet holds that, whoever put the pod on the node.
    { rule: { key: 'a', effect: 'NoExecute' }, is: false },
  ])('by a nodeName, which passes the scheduler by: $rule', ({ rule, is }) => {
    expect(asked({ nodeName: 'n1' }, [rule]).map(({ key }) => key)).toEqual(is ? ['a'] : []);
  });

  it.each<{ namespace: string; exceptNamespaces?: string[]; is: boolean }>([
    { namespace: 'kube-system', is: false },
    { namespace: 'team', is: true },
    { namespace: 'kube-system', exceptNamespaces: [], is: true },
    { namespace: 'team-a', exceptNamespaces: ['team-*'], is: false },
  ])('unless its namespace is left out: $namespace of $exceptNamespaces', ({ namespace, exceptNamespaces, is }) => {
    const pod = { namespace, tolerations: [{ operator: 'Exists' }] };
    const found = asked(pod, [{ key: 'a' }], exceptNamespaces ? { exceptNamespaces } : undefined);
    expect(found).toHaveLength(is ? 1 : 0);
  });
});

it('is Audit where every policy is', () => {
  const spec: TaintPolicySpec = {
    mode: 'Deny',
    taints: [{ key: 'a', tolerate: 'Authorized', restrict: ['Removal'] }],
    authorization: { mode: 'Deny' },
  };
  const modes = [false, true].map(
    (audit) => policySet({ taint: { p: spec } }, { audit }).taintPolicies[0]?.authorization?.mode,
  );
  expect(modes).toEqual(['Deny', 'Audit']);
});

it('leaves out by default the namespaces of Kubernetes, and those of the built-in TolerationPolicy', async () => {
  const builtin = parsePolicies(await readBuiltinPolicies()).flatMap((policy) =>
    policy.kind === 'TolerationPolicy' ? policy.spec.daemonSets.namespaces : [],
  );
  const kubernetes = ['kube-system', 'kube-public', 'kube-node-lease'];
  expect(DEFAULT_EXCEPT_NAMESPACES.toSorted()).toEqual([...new Set([...kubernetes, ...builtin])].sort());
});

describe('the own right of the requester counts', () => {
  it.each<{ user: string; hasController?: boolean; is: boolean; why?: string }>([
    { user: 'dev@example.com', is: true },
    { user: 'kubernetes-admin', is: true },
    { user: 'system:admin', is: true, why: 'the administrator of k3s and OpenShift' },
    { user: 'systematic', is: true },
    { user: 'system:serviceaccount:kube-system:replicaset-controller', is: false },
    { user: 'system:serviceaccount:argo-rollouts:argo-rollouts', is: false, why: 'a controller in any namespace' },
    { user: 'system:kube-controller-manager', is: false, why: 'it runs without a service account for each controller' },
    { user: 'system:administrator', is: false },
    { user: 'system:node:n1', is: false },
    { user: '', is: true, why: 'the API server knows nobody by that name, and it has no rights' },
    { user: 'kubernetes-admin', hasController: true, is: false, why: 'a controller manager with that file' },
    { user: 'system:admin', hasController: true, is: false },
  ])('of $user, controller $hasController: $is', ({ user, hasController = false, is }) => {
    expect(isPerson({ user, hasController })).toBe(is);
  });
});
