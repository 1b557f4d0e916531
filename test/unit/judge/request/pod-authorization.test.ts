import { describe, expect, it } from 'vitest';
import { readBuiltinPolicies } from '../../../../src/files/builtin-policies.ts';
import { parsePolicies } from '../../../../src/files/policy-files.ts';
import { isPerson, neededAuthorizations } from '../../../../src/judge/request/pod-authorization.ts';
import type { ToleratingPod } from '../../../../src/judge/tolerator.ts';
import type { Toleration } from '../../../../src/kubernetes/toleration.ts';
import {
  DEFAULT_EXCEPT_NAMESPACES,
  type RestrictedTaint,
  type TolerationRestrictionSpec,
} from '../../../../src/policy/toleration-restriction.ts';
import { policySet } from '../../policy/policies.ts';

function asked(
  pod: Partial<ToleratingPod>,
  taints: readonly RestrictedTaint[],
  more: Partial<TolerationRestrictionSpec> = {},
) {
  const { tolerationRestrictions } = policySet({ restriction: { p: { mode: 'Audit', taints: [...taints], ...more } } });
  const view = { namespace: 'team', serviceAccount: '', nodeName: '', tolerations: [], ...pod };
  return neededAuthorizations(view, tolerationRestrictions);
}

const keys = (tolerations: Toleration[], taints: readonly RestrictedTaint[]) =>
  asked({ tolerations }, taints).map(({ key }) => key);

describe('a pod needs authorization for a key', () => {
  it.each<{ why: string; toleration: Toleration; taint: RestrictedTaint; is: boolean }>([
    { why: 'by its name', toleration: { key: 'a', operator: 'Exists' }, taint: { key: 'a' }, is: true },
    { why: 'by no key', toleration: { operator: 'Exists' }, taint: { key: 'a' }, is: true },
    { why: 'not by another', toleration: { key: 'b', operator: 'Exists' }, taint: { key: 'a' }, is: false },
    {
      why: 'with the effect of the taint',
      toleration: { key: 'a', operator: 'Exists', effect: 'NoSchedule' },
      taint: { key: 'a', effect: 'NoSchedule' },
      is: true,
    },
    {
      why: 'not with another effect',
      toleration: { operator: 'Exists', effect: 'NoExecute' },
      taint: { key: 'a', effect: 'NoSchedule' },
      is: false,
    },
    {
      why: 'with any effect, where the taint has none',
      toleration: { key: 'a', operator: 'Exists', effect: 'PreferNoSchedule' },
      taint: { key: 'a' },
      is: true,
    },
    {
      why: 'with the value of the taint',
      toleration: { key: 'a', value: 'v' },
      taint: { key: 'a', value: 'v' },
      is: true,
    },
    {
      why: 'not with another value',
      toleration: { key: 'a', operator: 'Equal', value: 'w' },
      taint: { key: 'a', value: 'v' },
      is: false,
    },
    {
      why: 'not with another value, where no operator means Equal',
      toleration: { key: 'a', value: 'w' },
      taint: { key: 'a', value: 'v' },
      is: false,
    },
    {
      why: 'with no value, where the taint has the empty one',
      toleration: { key: 'a', operator: 'Equal' },
      taint: { key: 'a', value: '' },
      is: true,
    },
    {
      why: 'with any value, where the taint has none',
      toleration: { key: 'a', operator: 'Equal', value: 'w' },
      taint: { key: 'a' },
      is: true,
    },
    {
      why: 'with an operator that may be true of the value',
      toleration: { key: 'a', operator: 'Gt', value: '5' },
      taint: { key: 'a', value: '7' },
      is: true,
    },
    {
      why: 'not by what the DaemonSet controller gives to every pod',
      toleration: { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
      taint: { key: 'node.kubernetes.io/unschedulable' },
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
      taint: { key: 'node.kubernetes.io/unreachable' },
      is: false,
    },
    {
      why: 'by more than that',
      toleration: { key: 'node.kubernetes.io/unreachable', operator: 'Exists' },
      taint: { key: 'node.kubernetes.io/unreachable' },
      is: true,
    },
  ])('$why: $toleration, $taint', ({ toleration, taint, is }) => {
    expect(keys([toleration], [taint])).toEqual(is ? ['a', taint.key].slice(-1) : []);
  });

  it('once, by all the taints with it', () => {
    const taints: RestrictedTaint[] = [
      { key: 'a', effect: 'NoSchedule' },
      { key: 'b' },
      { key: 'a', effect: 'NoExecute' },
    ];
    const tolerations: Toleration[] = [{ key: 'a', operator: 'Exists', effect: 'NoExecute' }];
    expect(asked({ tolerations }, taints)).toEqual([
      { policy: 'p', mode: 'Audit', key: 'a', fields: ['spec.taints[0]', 'spec.taints[2]'], tolerations },
    ]);
  });

  it.each<{ taint: RestrictedTaint; is: boolean }>([
    { taint: { key: 'a' }, is: true },
    { taint: { key: 'a', effect: 'PreferNoSchedule' }, is: true },
    // The kubelet holds that, whoever put the pod on the node.
    { taint: { key: 'a', effect: 'NoExecute' }, is: false },
  ])('by a nodeName, which bypasses the scheduler: $taint', ({ taint, is }) => {
    expect(asked({ nodeName: 'n1' }, [taint]).map(({ key }) => key)).toEqual(is ? ['a'] : []);
  });

  it('by a nodeName, if the scheduler enforces one of several taints with the key', () => {
    const taints: RestrictedTaint[] = [
      { key: 'a', effect: 'NoExecute' },
      { key: 'a', effect: 'NoSchedule' },
    ];
    expect(asked({ nodeName: 'n1' }, taints).map(({ key }) => key)).toEqual(['a']);
  });

  it.each<{ namespace: string; exceptNamespaces?: string[]; is: boolean }>([
    { namespace: 'kube-system', is: false },
    { namespace: 'team', is: true },
    { namespace: 'kube-system', exceptNamespaces: [], is: true },
    { namespace: 'team-a', exceptNamespaces: ['team-*'], is: false },
  ])('unless its namespace is left out: $namespace of $exceptNamespaces', ({ namespace, exceptNamespaces, is }) => {
    const pod = { namespace, tolerations: [{ operator: 'Exists' }] };
    const found = asked(pod, [{ key: 'a' }], exceptNamespaces ? { exceptNamespaces } : {});
    expect(found).toHaveLength(is ? 1 : 0);
  });
});

it('is Audit where every policy is', () => {
  const spec: TolerationRestrictionSpec = { mode: 'Deny', taints: [{ key: 'a' }] };
  const modes = [false, true].map(
    (audit) => policySet({ restriction: { p: spec } }, { audit }).tolerationRestrictions[0]?.mode,
  );
  expect(modes).toEqual(['Deny', 'Audit']);
});

it('by default, the namespaces of Kubernetes and of the built-in TolerationPolicy are excepted', async () => {
  const builtin = parsePolicies(await readBuiltinPolicies()).flatMap((policy) =>
    policy.kind === 'TolerationPolicy' ? policy.spec.daemonSets.namespaces : [],
  );
  const kubernetes = ['kube-system', 'kube-public', 'kube-node-lease'];
  expect(DEFAULT_EXCEPT_NAMESPACES.toSorted()).toEqual([...new Set([...kubernetes, ...builtin])].sort());
});

describe('the right of the requester counts', () => {
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
    { user: '', is: true, why: 'the API server knows no user by that name, and it has no rights' },
    { user: 'kubernetes-admin', hasController: true, is: false, why: 'a controller manager with that file' },
    { user: 'system:admin', hasController: true, is: false },
  ])('of $user, controller $hasController: $is', ({ user, hasController = false, is }) => {
    expect(isPerson({ user, hasController })).toBe(is);
  });
});
