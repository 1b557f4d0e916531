import { describe, expect, it } from 'vitest';
import type { NodeView } from '../../../src/judge/node-view.ts';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import type { TaintMode } from '../../../src/policy/taint-policy.ts';
import { driftOf, lossesOf, nodeOf, type Policies, rule } from './node-drifts.ts';
import { cpu, gpu, other } from './node-updates.ts';

const GPU = 'dedicated=gpu:NoSchedule';
const CPU = 'dedicated=cpu:NoSchedule';
const PRESENT_GPU = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' } as const;
const PRESENT_CPU = { ...PRESENT_GPU, value: 'cpu' };
const PRESENT_ANY = { key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' } as const;
const EVICTING = { ...PRESENT_GPU, effect: 'NoExecute' } as const;
const evicting: Taint = { ...gpu, effect: 'NoExecute' };

describe('a required taint', () => {
  it.each<{ why: string; node: NodeView; taints: Taint[] }>([
    { why: 'is put behind the others', node: nodeOf([other]), taints: [other, gpu] },
    { why: 'gets its value in its place', node: nodeOf([cpu, other]), taints: [gpu, other] },
    { why: 'stands beside one of another effect', node: nodeOf([evicting]), taints: [evicting, gpu] },
  ])('$why', ({ node, taints }) => {
    const drift = driftOf({ p: rule('Restore', PRESENT_GPU) }, node);
    expect(drift.losses).toMatchObject([{ field: 'spec.taints[0]', taint: gpu, blockedBy: undefined }]);
    expect(drift.desired?.taints).toEqual(taints);
  });

  it.each<[mode: TaintMode, losses: string[], taints: Taint[] | undefined]>([
    ['Restore', [`p ${GPU}`], [gpu]],
    // The mode says what happens to requests.
    ['Deny', [`p ${GPU}`], [gpu]],
    ['Audit', [`p ${GPU} (ModeDoesNotRestore)`], undefined],
  ])('in mode %s', (mode, losses, taints) => {
    for (const node of [nodeOf([]), nodeOf([cpu])]) {
      const drift = driftOf({ p: rule(mode, PRESENT_GPU) }, node);
      expect(lossesOf(drift)).toEqual(losses);
      expect(drift.desired?.taints).toEqual(taints);
    }
  });

  it.each(['node.cilium.io/agent-not-ready', 'node.deckhouse.io/uninitialized'])(
    'is for registration only when it is a start-up taint: %s',
    (key) => {
      const drift = driftOf({ p: rule('Restore', { ...PRESENT_GPU, key, restrict: ['Removal'] }) }, nodeOf([]));
      expect(drift).toMatchObject({
        losses: [],
        removed: [],
        expired: [],
        desired: undefined,
      });
    },
  );

  it.each(['karpenter.sh/controller', 'node.kubernetes.io/lifecycle', 'node.cluster.x-k8s.io/pool'])(
    'is restored though autoscalers or Kubernetes have other taints in its domain: %s',
    (key) => {
      const drift = driftOf({ p: rule('Restore', { ...PRESENT_GPU, key }) }, nodeOf([]));
      expect(drift.desired?.taints).toEqual([{ ...gpu, key }]);
    },
  );

  it.each<{ why: string; policies: Policies; node: NodeView }>([
    { why: 'the node carries it', policies: { p: rule('Restore', PRESENT_GPU) }, node: nodeOf([gpu]) },
    { why: 'any value will do', policies: { p: rule('Restore', PRESENT_ANY) }, node: nodeOf([cpu]) },
    {
      why: 'the policy is for other nodes',
      policies: { p: rule('Restore', PRESENT_GPU, { nodeSelector: { matchLabels: { pool: 'gpu' } } }) },
      node: nodeOf([]),
    },
  ])('is not missed when $why', ({ policies, node }) => {
    expect(driftOf(policies, node).losses).toEqual([]);
  });
});

describe('where several policies require one taint', () => {
  it.each<{
    why: string;
    policies: Policies;
    node?: NodeView;
    recorded?: string;
    losses: string[];
    taints: Taint[] | undefined;
  }>([
    {
      why: 'the value of the strongest counts, though another one repairs',
      policies: { a: rule('Restore', PRESENT_CPU), b: rule('Deny', PRESENT_GPU) },
      losses: [`b ${GPU}`, `a ${CPU} (OtherValuePresent)`],
      taints: [gpu],
    },
    {
      why: 'among equals, the first by name',
      policies: { b: rule('Restore', PRESENT_CPU), a: rule('Restore', PRESENT_GPU) },
      losses: [`a ${GPU}`, `b ${CPU} (OtherValuePresent)`],
      taints: [gpu],
    },
    {
      why: 'a policy that names a value wins over one that accepts any value',
      policies: { a: rule('Deny', PRESENT_ANY), b: rule('Restore', PRESENT_GPU) },
      losses: [`a ${GPU}`, `b ${GPU}`],
      taints: [gpu],
    },
    {
      why: 'one that only watches has no say in the value',
      policies: { a: rule('Audit', PRESENT_GPU), b: rule('Restore', PRESENT_ANY) },
      losses: ['b dedicated:NoSchedule', `a ${GPU} (ModeDoesNotRestore)`],
      taints: [{ key: 'dedicated', effect: 'NoSchedule' }],
    },
    {
      why: 'one in mode Deny that does not get its value is not said to have got it',
      policies: { a: rule('Deny', PRESENT_GPU), b: rule('Deny', PRESENT_CPU), c: rule('Restore', PRESENT_GPU) },
      losses: [`a ${GPU}`, `b ${CPU} (OtherValuePresent)`, `c ${GPU}`],
      taints: [gpu],
    },
    {
      why: 'the value that comes first is the reason for every other policy, also for one that only watches',
      policies: { a: rule('Restore', PRESENT_GPU), b: rule('Restore', PRESENT_CPU), c: rule('Audit', PRESENT_CPU) },
      losses: [`a ${GPU}`, `b ${CPU} (OtherValuePresent)`, `c ${CPU} (OtherValuePresent)`],
      taints: [gpu],
    },
    {
      why: 'the leader restores nothing for policies in mode Audit',
      policies: { a: rule('Audit', PRESENT_GPU), b: rule('Audit', PRESENT_GPU) },
      losses: [`a ${GPU} (ModeDoesNotRestore)`, `b ${GPU} (ModeDoesNotRestore)`],
      taints: undefined,
    },
    {
      why: 'a value that another one protects is held',
      policies: { a: rule('Restore', PRESENT_CPU), b: rule('Restore', PRESENT_GPU) },
      node: nodeOf([cpu]),
      losses: [`b ${GPU} (OtherValuePresent)`],
      taints: undefined,
    },
    {
      why: 'one that requires no value is held, too',
      policies: {
        a: rule('Deny', { key: 'dedicated', restrict: ['Removal'] }),
        b: rule('Restore', { ...PRESENT_GPU, value: '' }),
      },
      node: nodeOf([cpu]),
      losses: ['b dedicated:NoSchedule (OtherValuePresent)'],
      taints: undefined,
    },
    {
      why: 'a value that a pattern protects is held once it is established',
      policies: { a: rule('Deny', { key: 'dedi*', restrict: ['Removal'] }), b: rule('Restore', PRESENT_GPU) },
      node: nodeOf([cpu]),
      recorded: CPU,
      losses: [`b ${GPU} (OtherValuePresent)`],
      taints: undefined,
    },
    {
      why: 'and is not held before that: admission lets it change',
      policies: { a: rule('Deny', { key: 'dedi*', restrict: ['Removal'] }), b: rule('Restore', PRESENT_GPU) },
      node: nodeOf([cpu]),
      losses: [`b ${GPU}`],
      taints: [gpu],
    },
    {
      why: 'a value that is only watched is not held',
      policies: { a: rule('Audit', PRESENT_CPU), b: rule('Restore', PRESENT_GPU) },
      node: nodeOf([cpu]),
      losses: [`b ${GPU}`],
      taints: [gpu],
    },
  ])('$why', ({ policies, node = nodeOf([]), recorded, losses, taints }) => {
    const drift = driftOf(policies, node, recorded);
    expect(lossesOf(drift)).toEqual(losses);
    expect(drift.desired?.taints).toEqual(taints);
  });
});

describe('a taint that evicts pods', () => {
  const RECORDED = 'dedicated=gpu:NoExecute';

  it.each<{ why: string; policies: Policies; node: NodeView; recorded?: string; blockedBy: unknown[] }>([
    {
      why: 'is not put on a node that never carried it, in whichever mode',
      policies: { p: rule('Restore', EVICTING), q: rule('Deny', EVICTING) },
      node: nodeOf([]),
      blockedBy: ['WouldEvictPods', 'WouldEvictPods'],
    },
    {
      why: 'is not put on a node of which a record says that it carried it',
      policies: { p: rule('Restore', EVICTING) },
      node: nodeOf([]),
      recorded: RECORDED,
      blockedBy: ['WouldEvictPods'],
    },
    {
      why: 'is not where a policy protects it and none requires it',
      policies: {
        p: rule('Restore', { key: 'dedicated', restrict: ['Removal'] }),
        q: rule('Restore', { key: 'other', effect: 'NoExecute', ensure: 'Always' }),
      },
      node: nodeOf([{ key: 'other', effect: 'NoExecute' }]),
      recorded: RECORDED,
      blockedBy: ['WouldEvictPods'],
    },
    {
      why: 'does not when it was recorded with another value: pods may tolerate that one only',
      policies: {
        a: rule('Restore', EVICTING),
        b: rule('Restore', { key: 'dedicated', value: 'cpu', restrict: ['Removal'] }),
      },
      node: nodeOf([]),
      recorded: 'dedicated=cpu:NoExecute',
      blockedBy: ['WouldEvictPods', 'WouldEvictPods'],
    },
    {
      why: 'does not in place of another value that evicts',
      policies: { p: rule('Restore', EVICTING) },
      node: nodeOf([{ ...evicting, value: 'cpu' }]),
      blockedBy: ['WouldEvictPods'],
    },
  ])('$why', ({ policies, node, recorded, blockedBy }) => {
    expect(driftOf(policies, node, recorded).losses.map(({ blockedBy }) => blockedBy)).toEqual(blockedBy);
  });
});

it('leaves a taint in conflict to the other writer, and repairs the others', () => {
  const policies = {
    p: { mode: 'Restore', taints: [PRESENT_GPU, { ...PRESENT_GPU, key: 'other', restrict: ['Removal'] }] },
  } as const;
  const drift = driftOf({ p: { ...policies.p, taints: [...policies.p.taints] } }, nodeOf([]), undefined, {
    isInConflict: ({ key }) => key === 'other',
  });
  expect(lossesOf(drift)).toEqual([`p ${GPU}`, 'p other=gpu:NoSchedule (Conflict)']);
  expect(drift.desired?.taints).toEqual([gpu]);
});

it('puts back several taints in one go, in the order of the policies, behind those that are there', () => {
  const drift = driftOf(
    {
      b: { mode: 'Restore', taints: [PRESENT_GPU, EVICTING, { ...PRESENT_GPU, effect: 'PreferNoSchedule' }] },
      a: rule('Restore', { ...PRESENT_GPU, key: 'a', restrict: ['Removal'] }),
    },
    nodeOf([other]),
  );
  expect(drift.desired?.taints).toEqual([other, { ...gpu, key: 'a' }, gpu, { ...gpu, effect: 'PreferNoSchedule' }]);
});

it('asks for nothing where a loss is not restored', () => {
  const policies = { p: rule('Restore', PRESENT_GPU), q: rule('Deny', PRESENT_CPU) };
  const { losses, desired } = driftOf(policies, nodeOf([gpu, other]));
  expect(losses).toHaveLength(1);
  expect(desired).toBeUndefined();
});
