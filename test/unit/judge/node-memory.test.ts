import { describe, expect, it } from 'vitest';
import type { Decision } from '../../../src/judge/decision.ts';
import { policySet } from '../policy/policies.ts';
import { cpu, gpu, judgeUpdate, KUBELET, other, policyOf, type Update } from './node-updates.ts';

const GPU = 'dedicated=gpu:NoSchedule';
const CPU = 'dedicated=cpu:NoSchedule';
const OTHER = 'other:NoSchedule';

describe('what an update of a node leaves in its memory', () => {
  const memoryAfter = (decision: Decision<{ remembered: string | undefined }>) =>
    decision.verdict === 'patch' ? decision.desired.remembered : decision.verdict;

  describe.each(['Deny', 'Restore'] as const)('under %s', (mode) => {
    const policies = policyOf(mode, [{ key: 'dedicated', restrict: ['Removal'] }], {
      exempt: { users: ['autoscaler'] },
    });
    const AUTOSCALER = { username: 'autoscaler', groups: [] };

    it.each<{ why: string; update: Update; memory: string | undefined }>([
      { why: 'a taint that comes', update: { before: [], after: [gpu] }, memory: GPU },
      { why: 'a taint that comes, beside others', update: { before: [other], after: [other, gpu] }, memory: GPU },
      {
        why: 'a taint that comes back',
        update: { before: [], after: [gpu], oldRemembered: GPU },
        memory: 'allow',
      },
      { why: 'one that nobody protects', update: { before: [], after: [other] }, memory: 'allow' },
      {
        why: 'one that goes by a release',
        update: { before: [gpu], after: [], oldAllowRemoval: GPU, oldRemembered: GPU },
        memory: undefined,
      },
      {
        why: 'one that somebody exempt removes',
        update: { before: [gpu], after: [], requester: AUTOSCALER, oldRemembered: GPU },
        memory: undefined,
      },
      {
        why: 'a value that somebody exempt changes',
        update: { before: [gpu], after: [cpu], requester: AUTOSCALER, oldRemembered: GPU },
        memory: CPU,
      },
      { why: "a node's own update", update: { before: [], after: [gpu], requester: KUBELET }, memory: 'allow' },
      {
        why: 'only the annotation changes',
        update: { before: [gpu], after: [gpu], oldRemembered: GPU, newRemembered: 'rubbish' },
        memory: 'allow',
      },
    ])('$why', ({ update, memory }) => {
      expect(memoryAfter(judgeUpdate(policies, 'mutate', update))).toBe(memory);
    });

    it('a value that nobody protects goes, beside a taint that comes: the lost value stays remembered', () => {
      const named = policyOf(mode, [
        { key: 'dedicated', value: 'gpu', restrict: ['Removal'] },
        { key: 'other', restrict: ['Removal'] },
      ]);
      const decision = judgeUpdate(named, 'mutate', { before: [cpu], after: [other], oldRemembered: GPU });
      expect(memoryAfter(decision)).toBe(`${GPU}, ${OTHER}`);
    });

    it.each<{ why: string; update: Update }>([
      { why: 'the value that is remembered', update: { before: [cpu], after: [gpu], oldRemembered: GPU } },
      {
        why: 'by the node itself',
        update: { before: [cpu], after: [gpu], oldRemembered: GPU, requester: KUBELET },
      },
      { why: 'in place of none', update: { before: [{ ...gpu, value: '' }], after: [gpu], oldRemembered: GPU } },
      { why: 'one that the same request lists', update: { before: [cpu], after: [gpu], newRemembered: GPU } },
    ])('a memory makes no way for another value, $why', ({ update }) => {
      expect(judgeUpdate(policies, 'validate', update).verdict).toBe('deny');
    });

    it('a memory lets no taint go', () => {
      const update = { before: [cpu], after: [], oldRemembered: GPU };
      expect(judgeUpdate(policies, 'validate', update).verdict).toBe('deny');
    });
  });

  it('what will be refused changes nothing of what is remembered, while Restore puts back its own', () => {
    const policies = policySet({
      taint: {
        d: { mode: 'Deny', taints: [{ key: 'dedicated', restrict: ['Removal'] }] },
        r: { mode: 'Restore', taints: [{ key: 'other', restrict: ['Removal'] }] },
      },
    });
    const update = { before: [gpu, other], after: [], oldRemembered: 'stale:NoSchedule' };
    expect(judgeUpdate(policies, 'mutate', update)).toMatchObject({
      desired: { taints: [other], remembered: 'stale:NoSchedule' },
    });
  });

  it('what Restore puts back is remembered', () => {
    const restore = policyOf('Restore', [{ key: '*', restrict: ['Removal'] }]);
    const update = { before: [gpu, other], after: [other], recorded: [gpu, other] };
    const decision = judgeUpdate(restore, 'mutate', update);
    expect(decision).toMatchObject({ desired: { taints: [other, gpu], remembered: `${OTHER}, ${GPU}` } });
  });

  it('policies in Audit remember nothing, and forget nothing', () => {
    const audit = policyOf('Audit', [{ key: '*', restrict: ['Removal'] }]);
    for (const update of [
      { before: [], after: [gpu] },
      { before: [gpu], after: [], oldRemembered: GPU },
    ]) {
      expect(judgeUpdate(audit, 'mutate', update).verdict).toBe('allow');
    }
  });
});
