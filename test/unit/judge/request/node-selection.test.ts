import { describe, expect, it } from 'vitest';
import { judgeNodeUpdate } from '../../../../src/judge/request/node-update.ts';
import { formatTaint } from '../../../../src/kubernetes/taint.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../../src/policy/taint-rule.ts';
import { policySet } from '../../policy/policies.ts';
import { admitted, KUBELET, other, type Update } from './node-updates.ts';

const GPU = 'dedicated=gpu:NoSchedule';
const ALWAYS: TaintRule = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' };
const ROLE = 'node-role.kubernetes.io/control-plane';
const pool = (more: Partial<TaintPolicySpec> = {}): TaintPolicySpec => ({
  mode: 'Restore',
  nodeSelector: { matchLabels: { pool: 'gpu' } },
  taints: [ALWAYS],
  ...more,
});
const JOINS: Update = { before: [other], after: [other], oldLabels: {}, newLabels: { pool: 'gpu' } };
const READY = { daemonSets: [{ namespace: 'a', name: 'b' }] };

describe('an update that makes a policy select the node', () => {
  it.each(['Deny', 'Restore'] as const)('gets the required taint in the same request: mode %s', (mode) => {
    expect(admitted(policySet({ taint: { p: pool({ mode }) } }), JOINS)).toMatchObject({
      action: 'patch',
      taints: [formatTaint(other), GPU],
      outcomes: [`p added ${GPU}`],
      warnings: [`TaintPolicy p added taint ${GPU}`],
    });
  });

  it('is what kubeadm does when it marks a control plane', () => {
    const taints: TaintRule[] = [{ key: ROLE, effect: 'NoSchedule', ensure: 'Always' }];
    const policies = policySet({
      taint: { p: pool({ taints, nodeSelector: { matchExpressions: [{ key: ROLE, operator: 'Exists' }] } }) },
    });
    const taint = { key: ROLE, effect: 'NoSchedule' };
    const update = { before: [], oldLabels: {}, newLabels: { [ROLE]: '' } };
    expect(admitted(policies, { ...update, after: [] }).taints).toEqual([formatTaint(taint)]);
    expect(admitted(policies, { ...update, after: [taint] })).toMatchObject({ action: 'allow', outcomes: [] });
  });
});

describe('an update that changes no label', () => {
  const labels = { pool: 'gpu' };
  const until: TaintRule = { key: 'example.com/network', effect: 'NoSchedule', ensure: 'UntilReady', readyWhen: READY };
  const { taintPolicies } = policySet({ taint: { p: pool({ taints: [ALWAYS, until] }) } });
  const oldNode = { name: 'n1', labels: { ...labels }, taints: [], allowRemoval: undefined };
  const policies = taintPolicies.map((policy) => ({
    ...policy,
    selectsNode(asked: Readonly<Record<string, string>>) {
      if (asked === oldNode.labels) throw new Error('evaluated with the labels of before');
      return policy.selectsNode(asked);
    },
  }));

  it.each(['mutate', 'validate'] as const)('begins and ends no selection, and that is not computed: %s', (phase) => {
    // The required taint is missing, so that a registration would add it.
    const node = { ...oldNode, labels, taints: [other] };
    const requester = { username: 'dev', groups: [] };
    expect(judgeNodeUpdate[phase]({ requester, node, oldNode }, policies)).toMatchObject({
      action: 'allow',
      warnings: [],
    });
  });
});

describe('an update by whose labels no policy has the startup taint of the node any more', () => {
  const waiting = { key: 'example.com/network', value: 'x', effect: 'NoSchedule' } as const;
  const until = (more: object = {}): TaintRule => ({ ...waiting, ensure: 'UntilReady', readyWhen: READY, ...more });
  const network = (more: Partial<TaintPolicySpec> = {}) => pool({ taints: [until()], ...more });
  const LEAVES: Update = { before: [waiting], after: [waiting], oldLabels: { pool: 'gpu' }, newLabels: {} };
  const WARNINGS = [
    '1 node still waits, and will lose startup taint example.com/network=x:NoSchedule in 10 seconds: n1',
    'if it stays: kubectl taint node n1 example.com/network=x:NoSchedule-',
  ];
  const everywhere = { nodeSelector: {} };

  it.each<{
    why: string;
    policies?: Record<string, TaintPolicySpec>;
    update?: Partial<Update>;
    warns: boolean;
  }>([
    { why: 'a label goes', warns: true },
    {
      why: 'a label changes, with a taint',
      update: { newLabels: { pool: 'cpu' }, after: [waiting, other] },
      warns: true,
    },
    {
      why: 'the rule names no value',
      policies: { p: network({ taints: [until({ value: undefined })] }) },
      warns: true,
    },
    {
      why: 'another policy with the taint only reports',
      policies: { p: network(), q: network({ mode: 'Audit', ...everywhere }) },
      warns: true,
    },
    {
      why: 'another policy sets another value',
      policies: { p: network(), q: network({ taints: [until({ value: 'y' })], ...everywhere }) },
      warns: true,
    },
    {
      why: 'another policy protects another value',
      policies: { p: network(), q: pool({ taints: [{ key: waiting.key, value: 'y' }], ...everywhere }) },
      warns: true,
    },
    {
      why: 'another policy has the taint on the node',
      policies: { p: network(), q: network(everywhere) },
      warns: false,
    },
    {
      why: 'another policy sets the taint at registration, which another client removes',
      policies: { p: network(), q: pool({ taints: [{ ...waiting, ensure: 'AtRegistration' }], ...everywhere }) },
      warns: false,
    },
    {
      why: 'another policy sets any value of the taint at registration',
      policies: {
        p: network(),
        q: pool({ taints: [{ key: waiting.key, effect: waiting.effect, ensure: 'AtRegistration' }], ...everywhere }),
      },
      warns: false,
    },
    {
      why: 'another policy sets another value at registration',
      policies: {
        p: network(),
        q: pool({ taints: [{ ...waiting, value: 'y', ensure: 'AtRegistration' }], ...everywhere }),
      },
      warns: true,
    },
    {
      why: 'a policy that set it at registration ends with the label, too',
      policies: { p: network(), q: pool({ taints: [{ ...waiting, ensure: 'AtRegistration' }] }) },
      warns: true,
    },
    {
      why: 'another policy protects the taint',
      policies: { p: network(), q: pool({ taints: [{ key: waiting.key }], ...everywhere }) },
      warns: false,
    },
    {
      why: 'another policy protected the taint',
      policies: { p: network(), q: pool({ taints: [{ key: waiting.key }] }) },
      warns: false,
    },
    { why: 'the policy only reports', policies: { p: network({ mode: 'Audit' }) }, warns: false },
    {
      why: 'the policy selects the node by another label',
      update: { oldLabels: { pool: 'gpu', a: '' }, newLabels: { pool: 'gpu' } },
      warns: false,
    },
    {
      why: 'the policy begins to select the node',
      update: { oldLabels: {}, newLabels: { pool: 'gpu' } },
      warns: false,
    },
    { why: 'the labels stay', update: { newLabels: { pool: 'gpu' }, after: [waiting, other] }, warns: false },
    { why: 'the node does not wait any more', update: { before: [other], after: [other] }, warns: false },
    {
      why: 'the node carries another value',
      update: { before: [{ ...waiting, value: 'y' }], after: [{ ...waiting, value: 'y' }] },
      warns: false,
    },
    { why: 'the same request removes the taint', update: { after: [] }, warns: false },
    { why: 'the same request sets the taint', update: { before: [] }, warns: false },
    { why: 'the requester is the node, which shows no warnings', update: { requester: KUBELET }, warns: false },
  ])('warns: $warns, where $why', ({ policies = { p: network() }, update, warns }) => {
    const found = admitted(policySet({ taint: policies }), { ...LEAVES, ...update });
    expect(found).toMatchObject({ action: 'allow', outcomes: [] });
    expect(found.warnings).toEqual(warns ? WARNINGS : []);
  });

  it('gives a command that removes each of several taints', () => {
    const gpus = { ...waiting, key: 'example.com/gpu' };
    const both = { ...LEAVES, before: [waiting, gpus], after: [gpus, waiting] };
    const policies = policySet({ taint: { p: network({ taints: [until(), until({ key: gpus.key })] }) } });
    expect(admitted(policies, both).warnings).toEqual([
      ...WARNINGS,
      ...WARNINGS.map((text) => text.replace('example.com/network', gpus.key)),
    ]);
  });
});
