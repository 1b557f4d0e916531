import { describe, expect, it } from 'vitest';
import { policySet } from '../policy/policies.ts';
import { driftOf, nodeOf, rule } from './node-drifts.ts';
import { cpu, gpu, judgeUpdate, KUBELET, other, outcomes, policyOf, type Update } from './node-updates.ts';

const GPU = 'dedicated=gpu:NoSchedule';
const backed = policyOf('Restore', [{ key: 'dedicated', restrict: ['Removal'] }], { backstop: 'Native' });

describe('what a native policy put back in this request', () => {
  const told: Update = { before: [gpu], after: [gpu], newRestored: `p ${GPU}` };

  it('is told to the requester as if it had been done here, and taken off the node', () => {
    const decision = judgeUpdate(backed, 'mutate', told);
    expect(decision).toMatchObject({
      verdict: 'patch',
      desired: { taints: [gpu], restored: undefined },
      warnings: [`TaintPolicy p restored taint ${GPU}`],
      violations: [{ policy: 'p', outcome: 'restored', subject: GPU, field: 'spec.taints[0]', by: 'native' }],
    });
  });

  it('is told beside what is put back here', () => {
    const both = policyOf(
      'Restore',
      [
        { key: 'dedicated', restrict: ['Removal'] },
        { key: 'other', restrict: ['Removal'] },
      ],
      { backstop: 'Native' },
    );
    const decision = judgeUpdate(both, 'mutate', { ...told, before: [gpu, other] });
    expect(outcomes(decision)).toEqual(['p restored other:NoSchedule', `p restored ${GPU}`]);
    expect(decision).toMatchObject({ desired: { taints: [gpu, other], restored: undefined } });
  });

  it('leaves what was written before for the leader', () => {
    const decision = judgeUpdate(backed, 'mutate', {
      ...told,
      oldRestored: 'p dedicated:NoExecute',
      newRestored: `p dedicated:NoExecute, p ${GPU}`,
    });
    expect(outcomes(decision)).toEqual([`p restored ${GPU}`]);
    expect(decision).toMatchObject({ desired: { restored: 'p dedicated:NoExecute' } });
  });

  it('is not told of a request that is refused for another taint', () => {
    const policies = policySet({
      taint: {
        p: { mode: 'Restore', taints: [{ key: 'dedicated', restrict: ['Removal'] }], backstop: 'Native' },
        d: { mode: 'Deny', taints: [{ key: 'other', restrict: ['Removal'] }] },
      },
    });
    const update = { ...told, before: [gpu, other] };
    expect(judgeUpdate(policies, 'mutate', update)).toMatchObject({ violations: [], warnings: [] });
    expect(outcomes(judgeUpdate(policies, 'validate', update))).toEqual(['d denied other:NoSchedule']);
  });

  it.each<{ why: string; newRestored: string }>([
    { why: 'a policy that there is not', newRestored: `q ${GPU}` },
    { why: 'a taint that the policy does not protect', newRestored: 'p other:NoSchedule' },
    { why: 'what cannot be read', newRestored: 'rubbish,, p' },
  ])('of what somebody else wrote there, nothing is told: $why', ({ newRestored }) => {
    const decision = judgeUpdate(backed, 'mutate', { ...told, newRestored });
    expect(decision).toMatchObject({
      verdict: 'patch',
      desired: { restored: undefined },
      violations: [],
      warnings: [],
    });
  });

  it.each<{ why: string; policies?: typeof backed; update: Update }>([
    { why: 'it stood there before', update: { ...told, oldRestored: `p ${GPU}` } },
    { why: 'it is empty', update: { ...told, newRestored: '' } },
    { why: "a node's own update, which is never patched", update: { ...told, requester: KUBELET } },
    {
      why: 'no policy has native ones',
      policies: policyOf('Restore', [{ key: 'dedicated', restrict: ['Removal'] }]),
      update: told,
    },
    {
      why: 'none of those puts anything back',
      policies: policyOf('Deny', [{ key: 'dedicated', restrict: ['Removal'] }], { backstop: 'Native' }),
      update: told,
    },
  ])('is left alone: $why', ({ policies = backed, update }) => {
    expect(judgeUpdate(policies, 'mutate', update)).toMatchObject({ verdict: 'allow', violations: [], warnings: [] });
  });

  it('has nothing to do with validation', () => {
    expect(judgeUpdate(backed, 'validate', told)).toMatchObject({ verdict: 'allow', violations: [], warnings: [] });
  });
});

describe('what native policies put back while nobody was asked', () => {
  const policies = { p: rule('Restore', { key: 'dedicated', restrict: ['Removal'] }) };
  const nativelyOf = (restored: string) =>
    driftOf(policies, nodeOf([cpu], { restored })).natively.map(({ policy, taint }) => `${policy.name} ${taint.value}`);

  it('is to be recorded, once, and taken off the node', () => {
    const drift = driftOf(policies, nodeOf([gpu], { restored: `p ${GPU}, p ${GPU}`, remembered: GPU }));
    expect(drift.natively).toMatchObject([{ field: 'spec.taints[0]', taint: gpu }]);
    expect(drift.desired).toMatchObject({ taints: [gpu], remembered: GPU, restored: undefined });
  });

  it('is recorded though the node carries something else by now', () => {
    expect(nativelyOf(`p ${GPU}`)).toEqual(['p gpu']);
  });

  it.each(['q dedicated=gpu:NoSchedule', 'p other:NoSchedule', 'rubbish'])('is no record of ours: %s', (restored) => {
    expect(nativelyOf(restored)).toEqual([]);
    expect(driftOf(policies, nodeOf([], { restored })).desired).toMatchObject({ restored: undefined });
  });
});
