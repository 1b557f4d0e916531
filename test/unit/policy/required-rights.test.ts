import { describe, expect, it } from 'vitest';
import { readBuiltinPolicies } from '../../../src/files/builtin-policies.ts';
import { parsePolicies } from '../../../src/files/policy-files.ts';
import { type PolicyKind, parsePolicy } from '../../../src/policy/policy.ts';
import { requiredRights } from '../../../src/policy/required-rights.ts';
import { manifest } from './policies.ts';

const daemonSets = { namespaces: ['kube-system'] };

describe('the rights that a policy needs', () => {
  it.each<{ what: string; kind: PolicyKind; spec: object; rights: string[]; audited: string[] }>([
    {
      what: 'a TaintPolicy',
      kind: 'TaintPolicy',
      spec: { mode: 'Restore', taints: [{ key: 'a' }] },
      rights: [],
      audited: [],
    },
    {
      what: 'a backstop, which there is with Audit, too',
      kind: 'TaintPolicy',
      spec: { mode: 'Restore', taints: [{ key: 'a' }], backstop: 'Native' },
      rights: ['nativePolicies by backstop: Native'],
      audited: ['nativePolicies by backstop: Native'],
    },
    {
      what: 'a taint until DaemonSets are ready',
      kind: 'TaintPolicy',
      spec: {
        mode: 'Restore',
        taints: [
          {
            key: 'a',
            effect: 'NoSchedule',
            ensure: 'UntilReady',
            readyWhen: { daemonSets: [{ namespace: 'kube-system', name: 'cilium' }] },
          },
        ],
      },
      rights: ['listPods by readyWhen.daemonSets'],
      audited: ['listPods by readyWhen.daemonSets'],
    },
    {
      what: 'a taint until DaemonSets are ready, beside others',
      kind: 'TaintPolicy',
      spec: {
        mode: 'Restore',
        taints: [
          { key: 'b' },
          {
            key: 'a',
            effect: 'NoSchedule',
            ensure: 'UntilReady',
            readyWhen: { daemonSets: [{ namespace: 'kube-system', name: 'cilium' }] },
          },
        ],
      },
      rights: ['listPods by readyWhen.daemonSets'],
      audited: ['listPods by readyWhen.daemonSets'],
    },
    {
      what: 'a taint until all DaemonSets are ready',
      kind: 'TaintPolicy',
      spec: {
        mode: 'Restore',
        taints: [{ key: 'a', effect: 'NoSchedule', ensure: 'UntilReady', readyWhen: { allDaemonSets: {} } }],
      },
      rights: ['listPods by readyWhen.allDaemonSets'],
      audited: ['listPods by readyWhen.allDaemonSets'],
    },
    {
      what: 'a taint until CSI drivers have registered',
      kind: 'TaintPolicy',
      spec: {
        mode: 'Restore',
        taints: [
          { key: 'a', effect: 'NoSchedule', ensure: 'UntilReady', readyWhen: { csiDrivers: [{ name: 'a.com' }] } },
        ],
      },
      rights: ['listCsiNodes by readyWhen.csiDrivers'],
      audited: ['listCsiNodes by readyWhen.csiDrivers'],
    },
    {
      what: 'a taint until the Node itself says that it is ready',
      kind: 'TaintPolicy',
      spec: {
        mode: 'Restore',
        taints: [
          {
            key: 'a',
            effect: 'NoSchedule',
            ensure: 'UntilReady',
            readyWhen: { conditions: [{ type: 'a' }], allocatable: [{ resource: 'a.com/b' }] },
          },
        ],
      },
      rights: [],
      audited: [],
    },
    {
      what: 'tolerations of what is created',
      kind: 'TolerationPolicy',
      spec: { mode: 'Mutate', daemonSets },
      rights: [],
      audited: [],
    },
    {
      what: 'restricted tolerations, also in mode Audit',
      kind: 'TolerationRestriction',
      spec: { mode: 'Deny', taints: [{ key: 'a' }] },
      rights: ['nativePolicies by a TolerationRestriction'],
      audited: ['nativePolicies by a TolerationRestriction'],
    },
    {
      what: 'tolerations of what runs, and a backstop',
      kind: 'TolerationPolicy',
      spec: { mode: 'Mutate', daemonSets, existing: 'Patch', backstop: 'Native' },
      rights: ['nativePolicies by backstop: Native', 'patchDaemonSets by existing: Patch'],
      audited: ['nativePolicies by backstop: Native'],
    },
    {
      what: 'a RecoveryPolicy with its defaults',
      kind: 'RecoveryPolicy',
      spec: { daemonSets },
      rights: ['watchPods by a RecoveryPolicy', 'deletePods by a RecoveryPolicy'],
      audited: ['watchPods by a RecoveryPolicy'],
    },
    {
      what: 'a RecoveryPolicy that reports',
      kind: 'RecoveryPolicy',
      spec: { daemonSets, mode: 'Audit' },
      rights: ['watchPods by a RecoveryPolicy'],
      audited: ['watchPods by a RecoveryPolicy'],
    },
  ])('$what', ({ kind, spec, rights, audited }) => {
    const result = parsePolicy(manifest(kind, 'p', spec));
    if (!result.ok) throw new Error(JSON.stringify(result.problems));
    const required = (audit: boolean) =>
      requiredRights(result.policy, audit).map(({ right, by }) => `${right} by ${by}`);
    expect(required(false)).toEqual(rights);
    expect(required(true)).toEqual(audited);
  });

  it('the default policies need none', async () => {
    const policies = parsePolicies(await readBuiltinPolicies());
    expect(policies.flatMap((policy) => requiredRights(policy, false))).toEqual([]);
  });
});
