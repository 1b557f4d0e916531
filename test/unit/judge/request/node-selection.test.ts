import { describe, expect, it } from 'vitest';
import { judgeNodeUpdate } from '../../../../src/judge/request/node-update.ts';
import { formatTaint } from '../../../../src/kubernetes/taint.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../../src/policy/taint-rule.ts';
import { policySet } from '../../policy/policies.ts';
import { LEAVING_CASES } from './leaving-cases.ts';
import { admitted, other, type Update } from './node-updates.ts';

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

  it('is sent by kubeadm when it marks a control plane', () => {
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

describe('an update without a change of labels', () => {
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

describe('an update of the labels after which no policy sets the startup taint of the node', () => {
  const warnings = (text: string) => [
    `1 node still waits, and will lose startup taint ${text} in 10 seconds: n1`,
    `if it stays: kubectl taint node n1 ${text}-`,
  ];

  it.each(LEAVING_CASES)('warns about $ended, where $why', ({ policies, update, ended }) => {
    const found = admitted(policySet({ taint: policies }), update);
    expect(found).toMatchObject({ action: 'allow', outcomes: [] });
    expect(found.warnings).toEqual(ended.flatMap(warnings));
  });
});
