import { describe, expect, it } from 'vitest';
import { formatTaint } from '../../../../src/kubernetes/taint.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../../src/policy/taint-rule.ts';
import { policySet } from '../../policy/policies.ts';
import { admitted, cpu, gpu, KUBELET, other, type Update } from './node-updates.ts';

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

  it.each<{ why: string; policies?: Record<string, TaintPolicySpec>; update?: Partial<Update> }>([
    {
      why: 'the requester is the node: NodeRestriction would refuse the whole request',
      update: { requester: KUBELET },
    },
    { why: 'the policy only reports', policies: { p: pool({ mode: 'Audit' }) } },
    {
      why: 'the policy selected the node before',
      update: { oldLabels: { pool: 'gpu' }, newLabels: { pool: 'gpu', a: '' } },
    },
    { why: 'the labels do not change', update: { newLabels: {} } },
    { why: 'it would evict pods', policies: { p: pool({ taints: [{ ...ALWAYS, effect: 'NoExecute' }] }) } },
    {
      why: 'it is for registration only',
      policies: { p: pool({ taints: [{ ...ALWAYS, ensure: 'AtRegistration' }] }) },
    },
    {
      why: 'it waits for a new node',
      policies: { p: pool({ taints: [{ ...ALWAYS, ensure: 'UntilReady', readyWhen: READY }] }) },
    },
    { why: 'an entry keeps it off', update: { oldAllowRemoval: GPU, newAllowRemoval: GPU } },
    {
      why: 'another policy protects the value that the node carries',
      policies: { p: pool(), q: { mode: 'Deny', taints: [{ key: 'dedicated' }] } },
      update: { before: [cpu], after: [cpu] },
    },
    {
      why: 'another policy requires another value',
      policies: { p: pool(), q: { mode: 'Deny', taints: [{ ...ALWAYS, value: 'cpu' }] } },
    },
  ])('gets none where $why', ({ policies = { p: pool() }, update = {} }) => {
    const whole = { ...JOINS, ...update };
    expect(admitted(policySet({ taint: policies }), whole).taints).toEqual(whole.after.map(formatTaint));
  });

  it('does not read an entry that the same request writes', () => {
    const found = admitted(policySet({ taint: { p: pool() } }), { ...JOINS, newAllowRemoval: GPU });
    expect(found.taints).toContain(GPU);
  });

  it('gets the required value in place of one that no policy protects', () => {
    const found = admitted(policySet({ taint: { p: pool() } }), { ...JOINS, before: [cpu], after: [cpu] });
    expect(found).toMatchObject({ action: 'patch', taints: [GPU] });
  });
});

describe('a change to the value that a policy requires', () => {
  const requires = (more: Partial<TaintPolicySpec> = {}): TaintPolicySpec => ({
    mode: 'Restore',
    taints: [ALWAYS],
    ...more,
  });
  const change: Update = { before: [cpu], after: [gpu] };

  it.each<{ why: string; others: Record<string, TaintPolicySpec> }>([
    { why: 'of a key', others: { q: { mode: 'Deny', taints: [{ key: 'dedicated' }] } } },
    { why: 'of the value', others: { q: { mode: 'Restore', taints: [{ key: 'dedicated', value: 'cpu' }] } } },
    { why: 'that requires the other value', others: { q: requires({ taints: [{ ...ALWAYS, value: 'cpu' }] }) } },
  ])('passes, whatever the protection $why says', ({ others }) => {
    const found = admitted(policySet({ taint: { p: requires(), ...others } }), change);
    expect(found).toMatchObject({ action: 'allow', outcomes: [], taints: [GPU] });
  });

  it('does not pass where the policy that requires it only audits, or does not select the node', () => {
    const q: TaintPolicySpec = { mode: 'Deny', taints: [{ key: 'dedicated' }] };
    for (const p of [requires({ mode: 'Audit' }), requires({ nodeSelector: { matchLabels: { a: 'b' } } })]) {
      expect(admitted(policySet({ taint: { p, q } }), change).action).toBe('deny');
    }
  });

  it('passes only for that value', () => {
    const q: TaintPolicySpec = { mode: 'Deny', taints: [{ key: 'dedicated' }] };
    const policies = policySet({ taint: { p: requires(), q } });
    expect(admitted(policies, { before: [cpu], after: [{ ...gpu, value: 'tpu' }] }).action).toBe('deny');
    expect(admitted(policies, { before: [gpu], after: [cpu] }).action).toBe('deny');
  });
});
