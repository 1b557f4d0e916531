import { describe, expect, it } from 'vitest';
import type { Phase } from '../../../../src/judge/decision.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import type { Requester } from '../../../../src/policy/compiled-taint-policy.ts';
import type { PolicySet } from '../../../../src/policy/policy-set.ts';
import type { TaintMode, TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../../src/policy/taint-rule.ts';
import { policySet } from '../../policy/policies.ts';
import { judgeNode } from './judge-node.ts';

const KUBELET: Requester = { username: 'system:node:n1', groups: ['system:nodes'] };
const gpu: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const other: Taint = { key: 'other', effect: 'NoSchedule' };
const GPU = 'dedicated=gpu:NoSchedule';
const PRESENT_GPU = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' } as const;
const STARTUP: TaintRule = {
  key: 'a',
  effect: 'NoSchedule',
  ensure: 'UntilReady',
  readyWhen: { conditions: [{ type: 'X' }] },
};

function judgeCreation(policies: PolicySet, taints: readonly Taint[], phase: Phase = 'mutate', allowRemoval?: string) {
  const node = { name: 'n1', labels: { pool: 'gpu' }, taints, allowRemoval };
  return judgeNode({ phase, requester: KUBELET, node }, policies);
}

const present = (mode: TaintMode, more: Partial<TaintPolicySpec> = {}): PolicySet =>
  policySet({ taint: { p: { mode, taints: [PRESENT_GPU], ...more } } });

describe('a node that registers', () => {
  it.each<{ why: string; taints: Taint[]; desired: Taint[] }>([
    { why: 'gets a required taint', taints: [], desired: [gpu] },
    { why: 'gets it behind its own', taints: [other], desired: [other, gpu] },
    {
      why: 'gets the right value in place of a wrong one',
      taints: [{ ...gpu, value: 'cpu' }, other],
      desired: [gpu, other],
    },
    {
      why: 'gets it next to one of another effect',
      taints: [{ ...gpu, effect: 'NoExecute' }],
      desired: [{ ...gpu, effect: 'NoExecute' }, gpu],
    },
  ])('$why', ({ taints, desired }) => {
    const decision = judgeCreation(present('Restore'), taints);
    expect(decision).toMatchObject({ action: 'patch', desired: { taints: desired } });
    expect(decision.violations).toMatchObject([{ policy: 'p', result: 'Added', subject: 'dedicated=gpu:NoSchedule' }]);
    expect(decision.warnings).toEqual([`TaintPolicy p added taint ${GPU}`]);
  });

  it.each<{ why: string; policies: PolicySet; taints: Taint[] }>([
    { why: 'has it already', policies: present('Restore'), taints: [gpu] },
    {
      why: 'has another value where the policy names none',
      policies: policySet({
        taint: { p: { mode: 'Restore', taints: [{ key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' }] } },
      }),
      taints: [gpu],
    },
    {
      why: 'has no value where the policy requires the empty one',
      policies: policySet({ taint: { p: { mode: 'Restore', taints: [{ ...PRESENT_GPU, value: '' }] } } }),
      taints: [{ key: 'dedicated', effect: 'NoSchedule' }],
    },
    {
      why: 'is not selected',
      policies: present('Restore', { nodeSelector: { matchLabels: { pool: 'cpu' } } }),
      taints: [],
    },
    {
      why: 'lacks a taint that is only Preserved',
      policies: policySet({ taint: { p: { mode: 'Deny', taints: [{ key: 'dedicated' }] } } }),
      taints: [],
    },
    { why: 'is only watched', policies: present('Audit'), taints: [gpu] },
  ])('is left alone when it $why', ({ policies, taints }) => {
    const left = { action: 'allow', violations: [] };
    expect(judgeCreation(policies, taints)).toMatchObject(left);
    expect(judgeCreation(policies, taints, 'validate')).toMatchObject(left);
  });

  it.each<{ why: string; rule: TaintRule }>([
    { why: 'a taint is protected', rule: { key: 'dedicated' } },
    { why: 'a taint is required', rule: { key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' } },
    { why: 'a startup taint is kept off by entries', rule: { ...STARTUP, key: 'dedicated', value: 'gpu' } },
  ])('keeps no entry where $why: nothing was allowed on a new node', ({ rule }) => {
    const policies = policySet({
      taint: { p: { mode: 'Deny', taints: [rule] }, watching: { mode: 'Audit', taints: [PRESENT_GPU] } },
    });
    expect(judgeCreation(policies, [gpu], 'mutate', `${GPU}, rubbish`)).toMatchObject({
      action: 'patch',
      desired: { taints: [gpu], allowRemoval: undefined },
      violations: [],
    });
  });

  it.each<{ why: string; policies: PolicySet }>([
    { why: 'policies only audit', policies: present('Audit') },
    {
      why: 'policies only set startup taints that another client removes',
      policies: policySet({ taint: { p: { mode: 'Deny', taints: [{ ...PRESENT_GPU, ensure: 'AtRegistration' }] } } }),
    },
  ])('keeps its entry where no policy clears it: $why', ({ policies }) => {
    expect(judgeCreation(policies, [gpu], 'mutate', GPU)).toMatchObject({ action: 'allow' });
  });

  it('gets the taint even if its kubelet is exempt, because exemptions are for removals', () => {
    expect(judgeCreation(present('Restore', { exempt: { groups: ['system:nodes'] } }), []).action).toBe('patch');
  });

  it('gets the taint under a Deny policy, too: registration is never refused', () => {
    expect(judgeCreation(present('Deny'), []).action).toBe('patch');
    expect(judgeCreation(present('Deny'), [], 'validate')).toMatchObject({
      action: 'allow',
      violations: [{ result: 'Reported' }],
      warnings: [`TaintPolicy p: the node lacks taint ${GPU}`],
    });
  });

  it('is only reported under an Audit policy', () => {
    expect(judgeCreation(present('Audit'), [])).toMatchObject({ action: 'allow', violations: [] });
    expect(judgeCreation(present('Audit'), [], 'validate')).toMatchObject({
      action: 'allow',
      violations: [{ result: 'Audited' }],
      warnings: ['TaintPolicy p, Audit: the node lacks taint dedicated=gpu:NoSchedule'],
    });
  });

  it('gets a taint from the policy that enforces it, not from one that audits the same', () => {
    const spec = (mode: TaintMode): TaintPolicySpec => ({ mode, taints: [PRESENT_GPU] });
    const policies = policySet({ taint: { audits: spec('Audit'), sets: spec('Restore') } });
    expect(judgeCreation(policies, []).violations).toMatchObject([{ policy: 'sets', result: 'Added' }]);
  });

  it.each<{ why: string; rules: TaintRule[]; allowRemoval?: string; isRoutine?: true }>([
    { why: 'a startup taint', rules: [STARTUP], isRoutine: true },
    { why: 'a required taint', rules: [PRESENT_GPU] },
    { why: 'both', rules: [STARTUP, PRESENT_GPU] },
    { why: 'a startup taint, and loses an entry', rules: [STARTUP, { key: 'other' }], allowRemoval: GPU },
  ])('that gets $why is routine: $isRoutine', ({ rules, allowRemoval, isRoutine }) => {
    const policies = policySet({ taint: { p: { mode: 'Restore', taints: rules } } });
    const decision = judgeCreation(policies, [], 'mutate', allowRemoval);
    expect(decision.action).toBe('patch');
    expect('isRoutine' in decision ? decision.isRoutine : undefined).toBe(isRoutine);
  });

  it('gets a warning with --audit about the taint that a policy would add', () => {
    const trial = policySet({ taint: { p: { mode: 'Deny', taints: [PRESENT_GPU] } } }, { audit: true });
    expect(judgeCreation(trial, [])).toMatchObject({ action: 'allow', violations: [] });
    expect(judgeCreation(trial, [], 'validate')).toMatchObject({
      violations: [{ mode: 'Audit', result: 'Added', audit: true }],
      warnings: ['TaintPolicy p would add taint dedicated=gpu:NoSchedule (--audit)'],
    });
  });

  it('gets one taint if two policies require two values: by the stronger mode, then by name', () => {
    const requiring = (mode: TaintMode, value: string): TaintPolicySpec => ({
      mode,
      taints: [{ ...PRESENT_GPU, value }],
    });
    const policies = policySet({
      taint: { a: requiring('Restore', 'a'), b: requiring('Deny', 'b'), c: requiring('Deny', 'c') },
    });
    const carrying = [{ ...gpu, value: 'b' }];
    expect(judgeCreation(policies, [])).toMatchObject({
      ...{ action: 'patch', desired: { taints: carrying }, violations: [{ policy: 'b', result: 'Added' }] },
      warnings: ['TaintPolicy b added taint dedicated=b:NoSchedule'],
    });
    expect(judgeCreation(policies, carrying)).toMatchObject({ action: 'allow', violations: [] });
    expect(judgeCreation(policies, carrying, 'validate').violations).toMatchObject([
      { policy: 'c', result: 'Reported' },
      { policy: 'a', result: 'Reported' },
    ]);
  });

  it('gets all taints that policies require', () => {
    const required: TaintRule[] = [PRESENT_GPU, { ...PRESENT_GPU, key: 'other' }];
    const policies = policySet({ taint: { p: { mode: 'Restore', taints: required } } });
    expect(judgeCreation(policies, [])).toMatchObject({ desired: { taints: [gpu, { ...gpu, key: 'other' }] } });
  });

  it('gets no value from a policy that only reports', () => {
    const any: TaintRule = { key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' };
    const policies = policySet({
      taint: { any: { mode: 'Restore', taints: [any] }, named: { mode: 'Audit', taints: [PRESENT_GPU] } },
    });
    const desired = { taints: [{ key: 'dedicated', effect: 'NoSchedule' }] };
    expect(judgeCreation(policies, [])).toMatchObject({ action: 'patch', desired });
  });

  it('gets the value that one policy names if a stronger one accepts any value', () => {
    const policies = policySet({
      taint: {
        any: { mode: 'Deny', taints: [{ key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' }] },
        named: { mode: 'Restore', taints: [PRESENT_GPU] },
      },
    });
    expect(judgeCreation(policies, [])).toMatchObject({ action: 'patch', desired: { taints: [gpu] } });
    expect(judgeCreation(policies, [gpu])).toMatchObject({ action: 'allow', violations: [] });
  });
});
