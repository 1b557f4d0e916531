import { describe, expect, it } from 'vitest';
import type { NodeView } from '../../../src/judge/node-view.ts';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import { driftOf, lossesOf, nodeOf, type Policies, rule } from './node-drifts.ts';
import { cpu, gpu, other } from './node-updates.ts';

const GPU = 'dedicated=gpu:NoSchedule';
const CPU = 'dedicated=cpu:NoSchedule';
const OTHER = 'other:NoSchedule';
const DEDICATED = { key: 'dedicated', restrict: ['Removal'] } as const;
const PRESENT = { key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' } as const;

const RETAINED = { deletedNodeRetentionSeconds: 86_400 } as const;

const restore: Policies = { p: rule('Restore', DEDICATED) };

describe('a recorded taint that is lost', () => {
  it.each<{
    why: string;
    policies?: Policies;
    node: NodeView;
    recorded?: string;
    losses: string[];
    taints: Taint[] | undefined;
  }>([
    { why: 'is put back', node: nodeOf([other]), losses: [`p ${GPU}`], taints: [other, gpu] },
    {
      why: 'is put back in place of a value that no policy protects',
      policies: { p: rule('Restore', { key: 'dedicated', value: 'gpu', restrict: ['Removal'] }) },
      node: nodeOf([cpu, other]),
      losses: [`p ${GPU}`],
      taints: [gpu, other],
    },
    {
      why: 'is missed, but leaves another value that is protected',
      node: nodeOf([cpu, other]),
      losses: [`p ${GPU} (OtherValuePresent)`],
      taints: undefined,
    },
    {
      why: 'is put back in place of a value that a pattern does not protect yet',
      policies: { p: rule('Restore', { key: 'ded*', restrict: ['Removal'] }) },
      node: nodeOf([cpu, other]),
      losses: [`p ${GPU}`],
      taints: [gpu, other],
    },
    {
      why: 'is put back without a value when it had none',
      policies: { p: rule('Restore', { ...PRESENT, value: '' }), q: rule('Restore', { ...DEDICATED, value: '' }) },
      node: nodeOf([gpu]),
      recorded: 'dedicated:NoSchedule',
      losses: ['p dedicated:NoSchedule', 'q dedicated:NoSchedule'],
      taints: [{ key: 'dedicated', effect: 'NoSchedule' }],
    },
    {
      why: 'is put back with its value where the policy takes any',
      policies: { p: rule('Restore', PRESENT) },
      node: nodeOf([]),
      losses: [`p ${GPU}`],
      taints: [gpu],
    },
    {
      why: 'is put back with its value where the policy takes any, in mode Deny as well',
      policies: { p: rule('Deny', PRESENT) },
      node: nodeOf([]),
      losses: [`p ${GPU}`],
      taints: [gpu],
    },
    {
      why: 'gives way to the value that the policy declares',
      policies: { p: { mode: 'Restore', taints: [DEDICATED, { ...PRESENT, value: 'cpu' }] } },
      node: nodeOf([]),
      losses: [`p ${CPU}`],
      taints: [cpu],
    },
    {
      why: 'gives way to the value of an earlier policy, and is no loss for its own policy',
      policies: {
        a: rule('Restore', { ...PRESENT, value: 'cpu' }),
        b: rule('Restore', { ...DEDICATED, value: 'gpu' }),
      },
      node: nodeOf([]),
      losses: [`a ${CPU}`],
      taints: [cpu],
    },
    {
      why: 'gives way to the value of an earlier policy, which restores it for each policy that protects any value',
      policies: { a: rule('Restore', { ...PRESENT, value: 'cpu' }), b: rule('Restore', DEDICATED) },
      node: nodeOf([]),
      losses: [`a ${CPU}`, `b ${CPU}`],
      taints: [cpu],
    },
    {
      why: 'goes before the value of a later policy, which then misses its own',
      policies: {
        a: rule('Restore', { ...DEDICATED, value: 'gpu' }),
        b: rule('Restore', { ...PRESENT, value: 'cpu' }),
      },
      node: nodeOf([]),
      losses: [`a ${GPU}`, `b ${CPU} (OtherValuePresent)`],
      taints: [gpu],
    },
    {
      why: 'is missed by each policy that protects it, and put back when one of them repairs',
      policies: { a: rule('Audit', DEDICATED), d: rule('Deny', DEDICATED), r: rule('Restore', DEDICATED) },
      node: nodeOf([]),
      losses: [`d ${GPU}`, `r ${GPU}`, `a ${GPU}`],
      taints: [gpu],
    },
    {
      why: 'is only missed in mode Deny',
      policies: { p: rule('Deny', DEDICATED) },
      node: nodeOf([]),
      losses: [`p ${GPU} (ModeDoesNotRestore)`],
      taints: undefined,
    },
    {
      why: 'is one of several',
      policies: { p: rule('Restore', { key: '*', restrict: ['Removal'] }) },
      node: nodeOf([]),
      recorded: `${GPU}, ${OTHER}`,
      losses: [`p ${GPU}`, `p ${OTHER}`],
      taints: [gpu, other],
    },
    {
      why: 'is not missed when no policy protects it any more',
      node: nodeOf([gpu]),
      recorded: `${GPU}, ${OTHER}`,
      losses: [],
      taints: undefined,
    },
    {
      why: 'is not missed in mode Audit: records list nothing for it, and this was listed for another policy',
      policies: { p: rule('Audit', DEDICATED) },
      node: nodeOf([]),
      losses: [],
      taints: undefined,
    },
    {
      why: 'is not missed in mode Audit beside a policy that protects other taints',
      policies: { p: rule('Audit', DEDICATED), q: rule('Restore', { key: 'other', restrict: ['Removal'] }) },
      node: nodeOf([]),
      losses: [],
      taints: undefined,
    },
    {
      why: 'is not missed in mode Audit with retention, which protects later Nodes of that name',
      policies: { p: rule('Audit', DEDICATED, RETAINED) },
      node: nodeOf([]),
      losses: [],
      taints: undefined,
    },
    {
      why: 'is not missed when an operator sets and removes it',
      policies: { p: rule('Restore', { key: 'node.cilium.io/agent-not-ready', restrict: ['Removal'] }) },
      node: nodeOf([gpu]),
      recorded: 'node.cilium.io/agent-not-ready:NoSchedule',
      losses: [],
      taints: undefined,
    },
  ])('$why', ({ policies = restore, node, recorded = GPU, losses, taints }) => {
    const drift = driftOf(policies, node, recorded);
    expect(lossesOf(drift)).toEqual(losses);
    expect(drift.desired?.taints).toEqual(taints);
  });

  it.each([
    { why: 'with retention', policy: rule('Audit', DEDICATED, RETAINED), losses: [`p ${GPU} (ModeDoesNotRestore)`] },
    { why: 'without retention', policy: rule('Audit', DEDICATED), losses: [] },
  ])('is missed in mode Audit where an earlier Node of that name carried it: $why', ({ policy, losses }) => {
    expect(lossesOf(driftOf({ p: policy }, nodeOf([]), undefined, { earlier: GPU }))).toEqual(losses);
  });

  it('is not the value that a record lists as removed with permission', () => {
    const drift = driftOf(restore, nodeOf([]), undefined, { removed: GPU });
    expect(drift).toMatchObject({ losses: [], desired: undefined });
  });
});

describe('a taint that was removed with permission', () => {
  const node = nodeOf([other], { allowRemoval: `${OTHER}, ${GPU}` });

  it('keeps its entry of the annotation until that is recorded', () => {
    expect(driftOf(restore, node)).toMatchObject({ losses: [], desired: undefined });
    const { losses, desired } = driftOf(restore, node, undefined, { isRecordWritten: true });
    expect(losses).toEqual([]);
    expect(desired).toEqual({ taints: [other], allowRemoval: OTHER });
    expect(desired?.taints).toBe(node.taints);
  });

  it.each<{
    why: string;
    allowRemoval: string;
    policies?: Policies;
    taints?: Taint[];
    removed?: string;
    after: string | undefined;
  }>([
    { why: 'whatever the value', allowRemoval: 'dedicated:NoSchedule', after: undefined },
    { why: 'also where another value has come', allowRemoval: GPU, taints: [cpu], after: undefined },
    { why: 'not while the node carries the taint', allowRemoval: GPU, taints: [gpu], after: GPU },
    {
      why: 'not while the node carries the taint with some value',
      allowRemoval: 'dedicated:NoSchedule',
      taints: [cpu],
      after: 'dedicated:NoSchedule',
    },
    { why: 'not of another effect', allowRemoval: 'dedicated:NoExecute', after: undefined },
    { why: 'also where no policy protects the taint any more', allowRemoval: OTHER, after: undefined },
    { why: 'not where no policy reads the annotation', allowRemoval: GPU, policies: {}, after: GPU },
    {
      why: 'not where policies only watch',
      allowRemoval: GPU,
      policies: { p: rule('Audit', DEDICATED) },
      after: GPU,
    },
    { why: 'not what cannot be read', allowRemoval: 'rubbish', after: 'rubbish' },
    {
      why: 'for a required taint',
      allowRemoval: GPU,
      policies: { p: rule('Restore', { ...PRESENT, value: 'gpu' }) },
      removed: GPU,
      after: undefined,
    },
  ])('its entry is deleted then, $why', ({ allowRemoval, policies = restore, taints = [], removed, after }) => {
    const before = nodeOf(taints, { allowRemoval });
    const { desired } = driftOf(policies, before, undefined, {
      isRecordWritten: true,
      ...(removed === undefined ? {} : { removed }),
    });
    expect(desired).toEqual(after === allowRemoval ? undefined : { taints, allowRemoval: after });
  });
});

describe('an entry of the annotation that names a taint which is restored', () => {
  it.each<{ why: string; policies: Policies; recorded: string | undefined }>([
    {
      why: 'a recorded one, where the policy forbids removal by annotation',
      policies: { p: rule('Restore', DEDICATED, { removalByAnnotation: 'Forbidden' }) },
      recorded: GPU,
    },
    {
      why: 'a required one',
      policies: { p: rule('Restore', { ...PRESENT, value: 'gpu' }) },
      recorded: undefined,
    },
  ])('goes first, and the taint comes in the next round: $why', ({ policies, recorded }) => {
    const node = nodeOf([other], { allowRemoval: `${OTHER}, dedicated:NoSchedule` });
    for (const isRecordWritten of [false, true]) {
      const first = driftOf(policies, node, recorded, { isRecordWritten });
      expect(lossesOf(first)).toEqual([`p ${GPU}`]);
      expect(first.desired).toEqual({ taints: [other], allowRemoval: OTHER });
      expect(first.desired?.taints).toBe(node.taints);
      const second = driftOf(policies, { ...node, ...first.desired }, recorded, { isRecordWritten });
      expect(second.desired).toEqual({ taints: [other, gpu], allowRemoval: OTHER });
    }
  });

  it('delays the restoration of other taints as well, and takes along no other entry', () => {
    const policies = { p: rule('Restore', { key: '*', restrict: ['Removal'] }) };
    const node = nodeOf([], { allowRemoval: GPU });
    const first = driftOf(policies, node, `${GPU}, ${OTHER}`);
    expect(first.desired).toEqual({ taints: [], allowRemoval: undefined });
    const second = driftOf(policies, { ...node, allowRemoval: undefined }, `${GPU}, ${OTHER}`);
    expect(second.desired?.taints).toEqual([gpu, other]);
  });

  it('goes first also where it names another value of a taint that is required with any', () => {
    const policies = { p: rule('Restore', PRESENT) };
    const first = driftOf(policies, nodeOf([], { allowRemoval: CPU }));
    expect(first.desired).toEqual({ taints: [], allowRemoval: undefined });
  });

  it.each([
    { why: 'it has too many colons', entry: 'dedicated=:::NoSchedule' },
    { why: 'the annotation is too long', entry: 'a:NoSchedule,'.repeat(3_000) },
  ])('goes first also where it cannot be read: CEL may read it. $why', ({ entry }) => {
    const policies = { p: rule('Restore', PRESENT) };
    const first = driftOf(policies, nodeOf([], { allowRemoval: entry }));
    expect(first.desired).toEqual({ taints: [], allowRemoval: undefined });
    expect(driftOf({}, nodeOf([], { allowRemoval: entry })).desired).toBeUndefined();
  });

  it('stays where the required taint is not restored', () => {
    const policies = { p: rule('Restore', { ...PRESENT, value: 'gpu', effect: 'NoExecute' }) };
    const node = nodeOf([], { allowRemoval: 'dedicated=cpu:NoExecute' });
    const drift = driftOf(policies, node, undefined, { isRecordWritten: true });
    expect(lossesOf(drift)).toEqual(['p dedicated=gpu:NoExecute (WouldEvictPods)']);
    expect(drift.desired).toBeUndefined();
  });

  it('stays where the taint is not restored', () => {
    const policies = { p: rule('Deny', DEDICATED, { removalByAnnotation: 'Forbidden' }) };
    const drift = driftOf(policies, nodeOf([], { allowRemoval: GPU }), GPU, { isRecordWritten: true });
    expect(lossesOf(drift)).toEqual([`p ${GPU} (ModeDoesNotRestore)`]);
    expect(drift.desired).toBeUndefined();
  });
});

describe('of a taint that the node carries', () => {
  it.each<{ why: string; policies: Policies; annotation: string; left: string | undefined }>([
    { why: 'an announcement stays', policies: restore, annotation: GPU, left: GPU },
    {
      why: 'an announcement stays where a policy forbids removal by annotation',
      policies: { ...restore, q: rule('Deny', DEDICATED, { removalByAnnotation: 'Forbidden' }) },
      annotation: GPU,
      left: GPU,
    },
    { why: 'a notice is deleted', policies: restore, annotation: `${GPU}-, rubbish`, left: 'rubbish' },
    {
      why: 'a notice stays where the policy only watches',
      policies: { p: rule('Audit', DEDICATED) },
      annotation: `${GPU}-`,
      left: `${GPU}-`,
    },
  ])('$why', ({ policies, annotation, left }) => {
    const node = nodeOf([gpu], { allowRemoval: annotation });
    expect(driftOf(policies, node, GPU).desired).toBeUndefined();
    expect(driftOf(policies, node, GPU, { isRecordWritten: true }).desired).toEqual(
      left === annotation ? undefined : { taints: [gpu], allowRemoval: left },
    );
  });
});

it('a node may have as many taints, and as long an annotation, as an object can be large', () => {
  const keys = Array.from({ length: 10_000 }, (_, index) => `example.com/${index}`);
  const taints = keys.map((key) => ({ key, effect: 'NoSchedule' }));
  const recorded = keys.slice(0, 64).map((key) => `${key}:PreferNoSchedule`);
  const policies = { p: rule('Restore', { key: '*', restrict: ['Removal'] }) };
  expect(driftOf(policies, nodeOf(taints), recorded.join()).desired?.taints).toHaveLength(10_064);
  for (const allowRemoval of [',', 'x', 'x=:', `${keys[0]}:NoExecute,`].map((text) =>
    text.repeat(200_000 / text.length),
  )) {
    const driftWith = (annotation: string | undefined) =>
      driftOf(policies, nodeOf(taints, { allowRemoval: annotation }), recorded.join(), { isRecordWritten: true });
    const first = driftWith(allowRemoval).desired;
    // What cannot be read is deleted first.
    const drift = first?.taints === taints ? driftWith(first.allowRemoval) : driftWith(allowRemoval);
    expect(drift.desired?.taints).toHaveLength(10_064);
  }
});

describe('an announcement that has stood for too long', () => {
  const over = (node: NodeView, recorded?: string, isRecordWritten = false) =>
    driftOf(restore, node, recorded, { isAllowRemovalExpired: true, isRecordWritten });

  it('is deleted, readable or not', () => {
    const { desired, expired } = over(nodeOf([gpu], { allowRemoval: `${GPU}, rubbish` }), GPU);
    expect(expired).toEqual([GPU, 'rubbish']);
    expect(desired).toEqual({ taints: [gpu], allowRemoval: undefined });
  });

  it('is deleted where one of the policies reads it', () => {
    const policies = { ...restore, q: rule('Audit', DEDICATED) };
    const node = nodeOf([gpu], { allowRemoval: GPU });
    expect(driftOf(policies, node, GPU, { isAllowRemovalExpired: true }).expired).toEqual([GPU]);
  });

  it('is not expired where it was used', () => {
    const { desired, expired, losses } = over(nodeOf([], { allowRemoval: GPU }), undefined, true);
    expect({ expired, losses }).toEqual({ expired: [], losses: [] });
    expect(desired).toEqual({ taints: [], allowRemoval: undefined });
  });

  it('stays where no policy reads it', () => {
    const node = nodeOf([gpu], { allowRemoval: GPU });
    expect(driftOf({ p: rule('Audit', DEDICATED) }, node, GPU, { isAllowRemovalExpired: true })).toMatchObject({
      expired: [],
      desired: undefined,
    });
  });
});
