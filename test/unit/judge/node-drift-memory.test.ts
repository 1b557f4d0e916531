import { describe, expect, it } from 'vitest';
import { MAX_REMEMBERED } from '../../../src/judge/memory.ts';
import type { NodeView } from '../../../src/judge/node-view.ts';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import { policySet } from '../policy/policies.ts';
import { driftAmong, driftOf, lossesOf, nodeOf, type Policies, rule } from './node-drifts.ts';
import { cpu, gpu, other } from './node-updates.ts';

const GPU = 'dedicated=gpu:NoSchedule';
const CPU = 'dedicated=cpu:NoSchedule';
const DEDICATED = { key: 'dedicated', restrict: ['Removal'] } as const;
const PRESENT = { key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' } as const;

const restore: Policies = { p: rule('Restore', DEDICATED) };

describe('a remembered taint that is gone', () => {
  it.each<{ why: string; policies?: Policies; node: NodeView; losses: string[]; taints: Taint[] | undefined }>([
    { why: 'is put back', node: nodeOf([other], { remembered: GPU }), losses: [`p ${GPU}`], taints: [other, gpu] },
    {
      why: 'is put back in place of a value that nobody protects',
      policies: { p: rule('Restore', { key: 'dedicated', value: 'gpu', restrict: ['Removal'] }) },
      node: nodeOf([cpu, other], { remembered: GPU }),
      losses: [`p ${GPU}`],
      taints: [gpu, other],
    },
    {
      why: 'is missed, but leaves another value that is protected: a kubelet can write what is remembered',
      node: nodeOf([cpu, other], { remembered: GPU }),
      losses: [`p ${GPU} (held)`],
      taints: undefined,
    },
    {
      why: 'is put back without a value when it had none',
      policies: { p: rule('Restore', { ...PRESENT, value: '' }), q: rule('Restore', { ...DEDICATED, value: '' }) },
      node: nodeOf([gpu], { remembered: 'dedicated:NoSchedule' }),
      losses: ['p dedicated:NoSchedule', 'q dedicated:NoSchedule'],
      taints: [{ key: 'dedicated', effect: 'NoSchedule' }],
    },
    {
      why: 'is put back with its value where the policy takes any',
      policies: { p: rule('Restore', PRESENT) },
      node: nodeOf([], { remembered: GPU }),
      losses: [`p ${GPU}`],
      taints: [gpu],
    },
    {
      why: 'gives way to the value that the policy declares',
      policies: { p: { mode: 'Restore', taints: [DEDICATED, { ...PRESENT, value: 'cpu' }] } },
      node: nodeOf([], { remembered: GPU }),
      losses: [`p ${CPU}`],
      taints: [cpu],
    },
    {
      why: 'gives way to the value of an earlier policy, and is nobody’s any more',
      policies: {
        a: rule('Restore', { ...PRESENT, value: 'cpu' }),
        b: rule('Restore', { ...DEDICATED, value: 'gpu' }),
      },
      node: nodeOf([], { remembered: GPU }),
      losses: [`a ${CPU}`],
      taints: [cpu],
    },
    {
      why: 'is missed by each policy that protects it, and put back when one of them repairs',
      policies: { a: rule('Audit', DEDICATED), d: rule('Deny', DEDICATED), r: rule('Restore', DEDICATED) },
      node: nodeOf([], { remembered: GPU }),
      losses: [`d ${GPU}`, `r ${GPU}`, `a ${GPU}`],
      taints: [gpu],
    },
    {
      why: 'is only missed in mode Deny',
      policies: { p: rule('Deny', DEDICATED) },
      node: nodeOf([], { remembered: GPU }),
      losses: [`p ${GPU} (mode)`],
      taints: undefined,
    },
    {
      why: 'is one of several',
      policies: { p: rule('Restore', { key: '*', restrict: ['Removal'] }) },
      node: nodeOf([], { remembered: `${GPU}, other:NoSchedule, ,rubbish` }),
      losses: [`p ${GPU}`, 'p other:NoSchedule'],
      taints: [gpu, { ...other, value: '' }],
    },
    {
      why: 'counts with the last value that is remembered of it',
      node: nodeOf([gpu], { remembered: `${CPU},${GPU}` }),
      losses: [],
      taints: [gpu],
    },
    {
      why: 'is nobody’s when no policy protects it any more',
      node: nodeOf([gpu], { remembered: `${GPU}, other:NoSchedule` }),
      losses: [],
      taints: [gpu],
    },
  ])('$why', ({ policies = restore, node, losses, taints }) => {
    const drift = driftOf(policies, node);
    expect(lossesOf(drift)).toEqual(losses);
    expect(drift.desired?.taints).toEqual(taints);
  });
});

it('a remembered taint that comes and goes by itself is forgotten once it is gone', () => {
  const startup = { key: 'node.cilium.io/agent-not-ready', effect: 'NoSchedule' } as const;
  const remembered = `${GPU}, node.cilium.io/agent-not-ready:NoSchedule`;
  const policies = { p: rule('Restore', { ...startup, restrict: ['Removal'] }), q: rule('Restore', DEDICATED) };
  const { losses, desired } = driftOf(
    policies,
    nodeOf([gpu], { remembered, allowRemoval: 'a:NoSchedule,b:NoSchedule' }),
  );
  expect(losses).toEqual([]);
  expect(desired).toEqual({ taints: [gpu], allowRemoval: 'a:NoSchedule,b:NoSchedule', remembered: GPU });
});

describe('a taint that went while it was released', () => {
  const node = nodeOf([], {
    remembered: `${GPU}, dedicated:PreferNoSchedule`,
    allowRemoval: `other:NoSchedule, ${GPU}`,
  });

  it('is not missed: the release is spent, and the taint forgotten', () => {
    const { losses, desired } = driftOf(restore, { ...node, remembered: GPU });
    expect(losses).toEqual([]);
    expect(desired).toEqual({ taints: [], allowRemoval: 'other:NoSchedule', remembered: undefined });
  });

  it('takes along nothing else', () => {
    const drift = driftOf(restore, node);
    expect(lossesOf(drift)).toEqual(['p dedicated:PreferNoSchedule']);
    expect(drift.desired).toMatchObject({ remembered: 'dedicated:PreferNoSchedule', allowRemoval: 'other:NoSchedule' });
  });

  it('leaves the value that came instead', () => {
    const { losses, desired } = driftOf(restore, { ...node, remembered: GPU, taints: [cpu] });
    expect(losses).toEqual([]);
    expect(desired).toEqual({ taints: [cpu], allowRemoval: 'other:NoSchedule', remembered: CPU });
  });

  it('comes back all the same when it is Present', () => {
    const { losses, desired } = driftOf({ p: rule('Restore', { ...PRESENT, value: 'gpu' }) }, node);
    expect(losses).toMatchObject([{ hindrance: undefined }]);
    expect(desired).toEqual({ taints: [gpu], allowRemoval: 'other:NoSchedule', remembered: GPU });
  });

  it.each<{ why: string; other: Policies; spent: boolean }>([
    {
      why: 'is missed where one policy does not allow removal by annotation',
      other: { q: rule('Deny', DEDICATED, { removalByAnnotation: 'Forbidden' }) },
      spent: false,
    },
    {
      why: 'is not missed where that one only watches',
      other: { q: rule('Audit', DEDICATED, { removalByAnnotation: 'Forbidden' }) },
      spent: true,
    },
    {
      why: 'is not missed where that one protects another value',
      other: {
        q: rule(
          'Deny',
          { key: 'dedicated', value: 'cpu', restrict: ['Removal'] },
          { removalByAnnotation: 'Forbidden' },
        ),
      },
      spent: true,
    },
  ])('$why', ({ other: policy, spent }) => {
    const { desired } = driftOf({ ...restore, ...policy }, { ...node, remembered: GPU });
    expect(desired?.taints).toEqual(spent ? [] : [gpu]);
    expect(desired?.allowRemoval).toBe(spent ? 'other:NoSchedule' : node.allowRemoval);
  });

  it('stays released while the node carries it', () => {
    expect(driftOf(restore, { ...node, taints: [gpu], remembered: GPU }).desired).toBeUndefined();
  });
});

describe('the memory', () => {
  it.each<{ why: string; policies?: Policies; taints: Taint[]; before: string | undefined; after: string | undefined }>(
    [
      { why: 'takes up a protected taint, and no other', taints: [gpu, other], before: undefined, after: GPU },
      {
        why: 'takes up a taint of another effect',
        taints: [gpu],
        before: 'dedicated=a:NoExecute',
        after: `dedicated=a:NoExecute, ${GPU}`,
      },
      { why: 'lets go what is gone, with the policy', policies: {}, taints: [], before: GPU, after: undefined },
      {
        why: 'lets go what is gone while the policy only watches: it is not to come back by surprise',
        policies: { p: rule('Audit', DEDICATED) },
        taints: [],
        before: GPU,
        after: undefined,
      },
      {
        why: 'lets go a value that has changed while the policy only watches',
        policies: { p: rule('Audit', DEDICATED) },
        taints: [cpu],
        before: GPU,
        after: undefined,
      },
      { why: 'is rid of what cannot be read', taints: [gpu], before: `rubbish, ${GPU}`, after: GPU },
    ],
  )('$why', ({ policies = restore, taints, before, after }) => {
    expect(driftOf(policies, nodeOf(taints, { remembered: before })).desired?.remembered).toBe(after);
  });

  it.each<{ why: string; policies: Policies; idle: Taint[] }>([
    { why: 'the policy only watches', policies: { p: rule('Audit', DEDICATED) }, idle: [] },
    { why: 'no policy has them, for a while', policies: {}, idle: [gpu] },
    {
      why: 'the policy is for another value',
      policies: { p: rule('Deny', { ...DEDICATED, value: 'x' }) },
      idle: [gpu],
    },
  ])('stays as it is for taints that the node carries while $why', ({ policies, idle }) => {
    const drift = driftOf(policies, nodeOf([gpu], { remembered: GPU }));
    expect(drift.desired).toBeUndefined();
    expect(drift.idle).toEqual(idle.map((taint) => ({ taint, isCarried: true })));
  });

  it('ends once no policy has had them for long enough; not where one watches, or binds', () => {
    const node = nodeOf([gpu, other], { remembered: `${GPU}, other:NoSchedule` });
    const forgetting = { isComplete: true, isOver: () => true };
    const remembered = (policies: Policies) => driftOf(policies, node, undefined, forgetting).desired;
    expect(remembered({})).toMatchObject({ remembered: undefined, taints: [gpu, other] });
    expect(remembered({ p: rule('Audit', DEDICATED) })).toMatchObject({ remembered: GPU });
    expect(remembered({ p: rule('Audit', { key: '*', restrict: ['Removal'] }) })).toBeUndefined();
    expect(remembered({ p: rule('Deny', { key: '*', restrict: ['Removal'] }) })).toBeUndefined();
  });

  it.each<{ why: string; taints: Taint[] }>([
    { why: 'that are gone', taints: [] },
    { why: 'that have changed', taints: [cpu] },
    { why: 'that have been in no policy for long', taints: [gpu] },
  ])('loses nothing while a policy is not known: not of taints $why', ({ taints }) => {
    const forgetting = { isComplete: false, isOver: () => true };
    const drift = driftOf({}, nodeOf(taints, { remembered: GPU }), undefined, forgetting);
    expect(drift).toMatchObject({ desired: undefined, idle: [] });
  });

  it.each<{ why: string; policies: Policies; contested: boolean }>([
    { why: 'nobody repairs', policies: { p: rule('Deny', DEDICATED) }, contested: false },
    { why: 'somebody insists on another', policies: restore, contested: true },
  ])('keeps a lost value while $why', ({ policies, contested }) => {
    const drift = driftOf(policies, nodeOf([cpu], { remembered: GPU }), () => contested);
    expect(drift.losses).toHaveLength(1);
    expect(drift.desired).toBeUndefined();
  });

  it('may be as large as an annotation can be, and the node as large as an object', () => {
    const keys = Array.from({ length: 10_000 }, (_, index) => `example.com/${index}`);
    const taints = keys.map((key) => ({ key, effect: 'NoSchedule' }));
    const remembered = keys.map((key) => `${key}:PreferNoSchedule`).join(',');
    const policies = { p: rule('Restore', { key: '*', restrict: ['Removal'] }) };
    expect(driftOf(policies, nodeOf(taints, { remembered })).desired?.taints).toHaveLength(10_000 + MAX_REMEMBERED);
    // Only the first entries of it are read.
    const allowRemoval = remembered.split(',', MAX_REMEMBERED).join();
    expect(driftOf(policies, nodeOf(taints, { remembered, allowRemoval })).losses).toEqual([]);
  });
});

describe('an announcement that has stood for too long', () => {
  const over = (node: NodeView) =>
    driftAmong(node, policySet({ taint: restore }).taintPolicies, { isAllowRemovalExpired: true });

  it('is taken away, readable or not', () => {
    const { desired, expired } = over(nodeOf([gpu], { remembered: GPU, allowRemoval: `${GPU}, rubbish` }));
    expect(expired).toEqual([GPU, 'rubbish']);
    expect(desired).toMatchObject({ allowRemoval: undefined, remembered: GPU, taints: [gpu] });
  });

  it('still lets go what went while nobody was asked', () => {
    const { desired, expired, released, losses } = over(nodeOf([], { remembered: GPU, allowRemoval: GPU }));
    expect({ expired, losses }).toEqual({ expired: [], losses: [] });
    expect(released).toHaveLength(1);
    expect(desired).toMatchObject({ allowRemoval: undefined, taints: [] });
  });
});
