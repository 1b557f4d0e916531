import { describe, expect, it } from 'vitest';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import type { PolicySet } from '../../../src/policy/policy-set.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../src/policy/taint-rule.ts';
import { policySet } from '../policy/policies.ts';
import { judgeNode } from './judge-node.ts';
import {
  admitted,
  cpu,
  DEVELOPER,
  gpu,
  judgeUpdate,
  KUBELET,
  notReady,
  other,
  policyOf,
  type Update,
} from './node-updates.ts';

const OWNER = { username: 'owner', groups: [] };
const exempt = { users: ['owner'] };
const GUARDED: TaintRule = { key: 'dedicated', restrict: ['Removal', 'Addition'] };
/** A guard alone: anybody may remove the taint. */
const ONE_WAY: TaintRule = { key: 'dedicated', restrict: ['Addition'] };
const PRESENT: TaintRule = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' };
const BARE: Taint = { key: 'dedicated', effect: 'NoSchedule' };
const [GPU, CPU, OTHER] = ['dedicated=gpu:NoSchedule', 'dedicated=cpu:NoSchedule', 'other:NoSchedule'] as const;

describe('a restricted taint that an update adds', () => {
  const added: Update = { before: [other], after: [gpu, other] };

  it.each<[string, PolicySet, Update, string, string[], string[]]>([
    ['Deny refuses it', policyOf('Deny', [GUARDED]), added, 'deny', [`p addition-denied ${GPU}`], [GPU, OTHER]],
    ['Restore takes it out', policyOf('Restore', [GUARDED]), added, 'patch', [`p reverted ${GPU}`], [OTHER]],
    ['Audit records it', policyOf('Audit', [GUARDED]), added, 'allow', [`p addition-audited ${GPU}`], [GPU, OTHER]],
    [
      'a policy that restricts removals alone does not mind',
      policyOf('Deny', [{ key: 'dedicated', restrict: ['Removal'] }]),
      added,
      'allow',
      [],
      [GPU, OTHER],
    ],
    [
      'Restore leaves an empty list',
      policyOf('Restore', [ONE_WAY]),
      { before: [], after: [gpu] },
      'patch',
      [`p reverted ${GPU}`],
      [],
    ],
  ])('%s', (_, policies, update, action, outcomes, taints) => {
    const { desired: _desired, message: _message, warnings: _warnings, ...found } = admitted(policies, update);
    expect(found).toEqual({ action, outcomes, taints });
  });

  it.each<[string, TaintRule, Update, string[]]>([
    ['a changed value', ONE_WAY, { before: [gpu], after: [cpu] }, [GPU]],
    ['a changed value, and the rest passes', ONE_WAY, { before: [gpu], after: [other, cpu] }, [OTHER, GPU]],
    ['another effect', ONE_WAY, { before: [gpu], after: [gpu, { ...gpu, effect: 'NoExecute' }] }, [GPU]],
    ['a key by pattern, at once', { key: 'ded*', restrict: ['Removal', 'Addition'] }, { before: [], after: [gpu] }, []],
    [
      'not a taint that Kubernetes sets and removes, by pattern',
      { key: '*', restrict: ['Removal', 'Addition'] },
      { before: [], after: [notReady] },
      ['node.kubernetes.io/not-ready:NoExecute'],
    ],
    [
      'a taint that Kubernetes sets and removes, by its exact key',
      { key: notReady.key, restrict: ['Removal', 'Addition'] },
      { before: [], after: [notReady] },
      [],
    ],
    ['not what goes', ONE_WAY, { before: [gpu], after: [] }, []],
    ['not another time', ONE_WAY, { before: [gpu], after: [{ ...gpu, timeAdded: '2026-01-01T00:00:00Z' }] }, [GPU]],
    ['one value of a key', { ...ONE_WAY, value: 'gpu' }, { before: [], after: [gpu] }, []],
    ['not another value of it', { ...ONE_WAY, value: 'gpu' }, { before: [gpu], after: [cpu] }, [CPU]],
  ])('is %s', (_, rule, update, taints) => {
    expect(admitted(policyOf('Restore', [rule]), update).taints).toEqual(taints);
  });

  it.each([GUARDED, ONE_WAY, { key: 'ded*', restrict: ['Removal', 'Addition'] } as const])(
    'is kept where an exempt user adds it: %j',
    (rule) => {
      const found = admitted(policyOf('Restore', [rule], { exempt }), { ...added, requester: OWNER });
      expect(found).toMatchObject({ taints: [GPU, OTHER], outcomes: [`p addition-exempt ${GPU}`], warnings: [] });
    },
  );

  it('is free at registration', () => {
    const node = { name: 'n1', labels: {}, taints: [gpu], allowRemoval: undefined };
    const request = { requester: DEVELOPER, node } as const;
    for (const phase of ['mutate', 'validate'] as const) {
      expect(judgeNode({ ...request, phase }, policyOf('Deny', [ONE_WAY]))).toMatchObject({ action: 'allow' });
    }
  });

  it('is refused to a node itself, whose updates are never patched', () => {
    const found = admitted(policyOf('Restore', [ONE_WAY]), { ...added, requester: KUBELET });
    expect(found).toMatchObject({ action: 'deny', taints: [GPU, OTHER] });
    expect(found.message).toBe(
      `node n1: adding taint ${GPU} is not allowed (TaintPolicy "p", spec.taints[0], mode Restore). ` +
        'An update by the node itself is refused: the API server does not let nodes change their taints. ' +
        'TaintPolicy "p" exempts no user: to add the taint on purpose, change the policy first.',
    );
  });

  it('is refused to a node itself in mode Deny as to a user, without advice about the annotation, which allows no additions', () => {
    const update = { ...added, oldAllowRemoval: 'rubbish', requester: KUBELET };
    expect(admitted(policyOf('Deny', [ONE_WAY]), update).message).toBe(
      `node n1: adding taint ${GPU} is not allowed (TaintPolicy "p", spec.taints[0], mode Deny). ` +
        'TaintPolicy "p" exempts no user: to add the taint on purpose, change the policy first.',
    );
  });

  it('is removed where a user in the group of nodes, who is no node, adds it', () => {
    const requester = { username: 'dev', groups: ['system:nodes'] };
    expect(admitted(policyOf('Restore', [ONE_WAY]), { ...added, requester })).toMatchObject({ taints: [OTHER] });
  });

  it.each<[string, Partial<TaintPolicySpec>, string]>([
    ['nobody', {}, 'TaintPolicy "p" exempts no user: to add the taint on purpose, change the policy first.'],
    [
      'somebody',
      { exempt: { users: ['owner'], groups: ['ops'] } },
      'Only users that TaintPolicy "p" exempts may add the taint: user owner, group ops.',
    ],
  ])('is refused with what to do, where the policy exempts %s', (_, more, advice) => {
    expect(admitted(policyOf('Deny', [GUARDED], more), added).message).toBe(
      `node n1: adding taint ${GPU} is not allowed (TaintPolicy "p", spec.taints[0], mode Deny). ${advice}`,
    );
  });

  it('is reported in a warning to the user who added it', () => {
    const told = (mode: 'Restore' | 'Audit') => admitted(policyOf(mode, [GUARDED]), added).warnings;
    expect(told('Restore')).toEqual([`TaintPolicy p removed taint ${GPU}: only exempt users may add it`]);
    expect(told('Audit')).toEqual([`TaintPolicy p, Audit: the request added restricted taint ${GPU}`]);
  });

  it('is refused in validation where something added it again after mutation', () => {
    expect(judgeUpdate(policyOf('Restore', [GUARDED]), 'validate', added)).toMatchObject({
      action: 'deny',
      message: expect.stringContaining(
        "It was not removed: taintkeeper's mutating webhook was not called, or a later webhook added the taint again (to check: taintkeeper doctor).",
      ),
    });
  });
});

it.each([
  ['Deny', ONE_WAY, `p addition-would-deny ${GPU}`, `TaintPolicy p would deny adding taint ${GPU} (--audit)`],
  ['Restore', ONE_WAY, `p addition-would-revert ${GPU}`, `TaintPolicy p would remove added taint ${GPU} (--audit)`],
  [
    'Restore',
    { ...ONE_WAY, key: '*' },
    `p addition-would-revert ${GPU}`,
    `TaintPolicy p would remove added taint ${GPU} (--audit)`,
  ],
  ['Audit', ONE_WAY, `p addition-audited ${GPU}`, `TaintPolicy p, Audit: the request added restricted taint ${GPU}`],
] as const)('with --audit, what mode %s would do is told', (mode, rule, outcome, warning) => {
  const trial = policySet({ taint: { p: { mode, taints: [rule] } } }, { audit: true });
  expect(admitted(trial, { before: [], after: [gpu] })).toMatchObject({
    action: 'allow',
    outcomes: [outcome],
    warnings: [warning],
  });
});

describe('a policy that restricts removals and additions', () => {
  const both = policyOf('Restore', [GUARDED], { exempt });

  it.each<[string, readonly Taint[], readonly Taint[], string[]]>([
    ['a removed key comes back', [gpu, other], [other], [OTHER, GPU]],
    ['an added key goes', [other], [other, gpu], [OTHER]],
    ['a changed value comes back', [gpu, other], [cpu], [GPU]],
  ])('a write of a user who is not exempt: %s', (_, before, after, taints) => {
    expect(admitted(both, { before, after }).taints).toEqual(taints);
  });

  it('a value that is put back is no addition: what is stored is told once', () => {
    expect(admitted(both, { before: [gpu], after: [cpu] }).outcomes).toEqual([`p restored ${GPU}`]);
  });

  it('an announcement lets a taint go, and none in: the old value stays, and may still be removed', () => {
    const update = { before: [gpu], after: [cpu], oldAllowRemoval: GPU, newAllowRemoval: GPU, recorded: GPU };
    const found = admitted(both, update);
    expect(found).toMatchObject({ taints: [GPU], outcomes: [`p reverted ${CPU}`] });
    expect(found.desired).toMatchObject({ allowRemoval: GPU });
    expect(admitted(both, { ...update, after: [] }).outcomes).toEqual([`p allowed-by-annotation ${GPU}`]);
    const back = { before: [], after: [gpu], oldAllowRemoval: GPU, newAllowRemoval: GPU };
    expect(admitted(both, back)).toMatchObject({ taints: [], desired: { allowRemoval: GPU } });
  });
});

describe('an update that removes one taint and adds another', () => {
  const rules = [GUARDED, { key: 'other', restrict: ['Removal'] as const }];
  const third: Taint = { key: 'third', effect: 'NoSchedule' };
  const restore: TaintPolicySpec = { mode: 'Restore', taints: rules };
  const deny: TaintPolicySpec = { mode: 'Deny', taints: [{ key: 'third', restrict: ['Removal'] }] };

  it('has both changes undone', () => {
    expect(admitted(policySet({ taint: { restore } }), { before: [other], after: [gpu] })).toMatchObject({
      ...{ action: 'patch', taints: [OTHER], outcomes: [`restore restored ${OTHER}`, `restore reverted ${GPU}`] },
      warnings: [
        `TaintPolicy restore restored taint ${OTHER}`,
        `TaintPolicy restore removed taint ${GPU}: only exempt users may add it`,
      ],
    });
  });

  it('has both changes undone also where it is refused for a third one', () => {
    const update = { before: [other, third], after: [gpu] };
    expect(admitted(policySet({ taint: { restore, deny } }), update)).toMatchObject({
      action: 'deny',
      taints: [OTHER],
      outcomes: ['deny denied third:NoSchedule'],
    });
  });
});

it('an exemption is reported once for each policy: in mutation, or in validation in mode Audit', () => {
  const spec = (mode: TaintPolicySpec['mode']): TaintPolicySpec => ({ mode, taints: [ONE_WAY], exempt });
  const policies = policySet({ taint: { a: spec('Audit'), d: spec('Deny') } });
  expect(admitted(policies, { before: [], after: [gpu], requester: OWNER }).outcomes).toEqual([
    `d addition-exempt ${GPU}`,
    `a addition-exempt ${GPU}`,
  ]);
});

describe('a user who is not exempt may add what the node should carry', () => {
  const present: TaintPolicySpec = { mode: 'Restore', taints: [PRESENT], exempt };
  const required = { before: [], after: [gpu] };

  it.each<[string, Record<string, TaintPolicySpec>, Update, string[]]>([
    [
      'a required taint of the policy',
      { p: { mode: 'Deny', taints: [{ ...PRESENT, restrict: ['Addition'] }] } },
      required,
      [GPU],
    ],
    [
      'a required taint of another',
      { a: { mode: 'Audit', taints: [PRESENT] }, p: { mode: 'Restore', taints: [ONE_WAY] } },
      required,
      [GPU],
    ],
    [
      'a required taint that may be removed by annotation, and was not',
      { a: present, p: { mode: 'Restore', taints: [ONE_WAY] } },
      required,
      [GPU],
    ],
    [
      'not another value of it',
      { a: present, p: { mode: 'Restore', taints: [ONE_WAY] } },
      { before: [], after: [cpu] },
      [],
    ],
    [
      'not another value, where any will do and there is one',
      {
        a: { mode: 'Audit', taints: [{ key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' }] },
        p: { mode: 'Restore', taints: [ONE_WAY] },
      },
      { before: [gpu], after: [cpu] },
      [GPU],
    ],
    ['what the record lists', { p: { mode: 'Restore', taints: [GUARDED] } }, { ...required, recorded: GPU }, [GPU]],
    [
      'what the record lists without a value',
      { p: { mode: 'Restore', taints: [GUARDED] } },
      { before: [], after: [BARE], recorded: 'dedicated:NoSchedule' },
      ['dedicated:NoSchedule'],
    ],
    [
      'not what the record lists where the annotation says that it was removed, beside a policy for other taints',
      {
        p: { mode: 'Restore', taints: [GUARDED] },
        q: { mode: 'Restore', taints: [{ key: 'other', restrict: ['Removal'] }], removalByAnnotation: 'Forbidden' },
      },
      { ...required, recorded: GPU, oldAllowRemoval: GPU },
      [],
    ],
    [
      'what the record lists where only a policy for other taints allows removal by annotation',
      {
        p: { mode: 'Restore', taints: [GUARDED], removalByAnnotation: 'Forbidden' },
        q: { mode: 'Restore', taints: [{ key: 'other', restrict: ['Removal'] }] },
      },
      { ...required, recorded: GPU, oldAllowRemoval: GPU },
      [GPU],
    ],
    [
      'not another value than the record lists',
      { p: { mode: 'Restore', taints: [GUARDED] } },
      { ...required, recorded: CPU },
      [],
    ],
    [
      'not what the record lists where the annotation says that it was removed: the leader is about to write that',
      { p: { mode: 'Restore', taints: [GUARDED] } },
      { ...required, recorded: GPU, oldAllowRemoval: GPU },
      [],
    ],
    [
      'what the record lists where the annotation has an entry, and the policy forbids removal by annotation',
      { p: { mode: 'Restore', taints: [GUARDED], removalByAnnotation: 'Forbidden' } },
      { ...required, recorded: GPU, oldAllowRemoval: GPU },
      [GPU],
    ],
    [
      'what the record lists where only the update has such an entry',
      { p: { mode: 'Restore', taints: [GUARDED] } },
      { ...required, recorded: GPU, newAllowRemoval: GPU },
      [GPU],
    ],
    [
      'not a required taint that was removed with permission',
      { a: present, p: { mode: 'Restore', taints: [ONE_WAY] } },
      { ...required, recordedRemovals: GPU },
      [],
    ],
    [
      'not a required taint where the annotation says that it was removed',
      { a: present, p: { mode: 'Restore', taints: [ONE_WAY] } },
      { ...required, oldAllowRemoval: GPU },
      [],
    ],
    [
      'a required taint where the annotation has an entry, and its policy forbids removal by annotation',
      {
        a: { mode: 'Restore', taints: [PRESENT], removalByAnnotation: 'Forbidden' },
        p: { mode: 'Restore', taints: [ONE_WAY] },
      },
      { ...required, oldAllowRemoval: GPU },
      [GPU],
    ],
    [
      'not on a node that its policy no longer selects after the update',
      { a: { ...present, nodeSelector: { matchLabels: { pool: 'gpu' } } }, p: { mode: 'Restore', taints: [ONE_WAY] } },
      { ...required, oldLabels: { pool: 'gpu' }, newLabels: {} },
      [],
    ],
  ])('%s', (_, specs, update, taints) => {
    expect(admitted(policySet({ taint: specs }), update).taints).toEqual(taints);
  });

  it('whatever the annotation says, with --audit: nothing removes a taint with permission then', () => {
    const specs: Record<string, TaintPolicySpec> = {
      a: { mode: 'Restore', taints: [PRESENT] },
      p: { mode: 'Restore', taints: [ONE_WAY] },
    };
    const trial = policySet({ taint: specs }, { audit: true });
    expect(admitted(trial, { ...required, oldAllowRemoval: GPU }).outcomes).toEqual([]);
  });
});

describe('several policies that restrict changes of one taint', () => {
  const spec = (mode: TaintPolicySpec['mode'], more: Partial<TaintPolicySpec> = {}) => ({
    mode,
    taints: [ONE_WAY],
    ...more,
  });
  const update = { before: [gpu], after: [cpu] };

  it.each<[string, Record<string, TaintPolicySpec>, string[]]>([
    [
      'the strongest mode wins',
      { a: spec('Audit'), d: spec('Deny'), r: spec('Restore') },
      [`d addition-denied ${CPU}`],
    ],
    ['Restore over Audit', { a: spec('Audit'), r: spec('Restore') }, [`r reverted ${CPU}`]],
    [
      'an exemption from one is none from the other',
      { d: spec('Deny', { exempt: { users: ['dev'] } }), r: spec('Restore') },
      [`r reverted ${CPU}`],
    ],
    [
      'what one forbids to remove is refused by that',
      { a: { mode: 'Deny', taints: [{ key: 'dedicated', restrict: ['Removal'] }] }, r: spec('Restore') },
      [`a denied ${GPU}`],
    ],
    [
      'what one puts back is no addition to another',
      { a: { mode: 'Restore', taints: [{ key: 'dedicated', restrict: ['Removal'] }] }, d: spec('Deny') },
      [`a restored ${GPU}`],
    ],
  ])('%s', (_, specs, outcomes) => {
    expect(admitted(policySet({ taint: specs }), update).outcomes).toEqual(outcomes);
  });

  it('an announcement is not used by a value that stays', () => {
    const policies = policySet({
      taint: { a: { mode: 'Restore', taints: [{ key: 'dedicated', restrict: ['Removal'] }] }, r: spec('Restore') },
    });
    const found = admitted(policies, { ...update, oldAllowRemoval: GPU, newAllowRemoval: GPU });
    expect(found).toMatchObject({ taints: [GPU], outcomes: [`r reverted ${CPU}`], desired: { allowRemoval: GPU } });
  });
});
