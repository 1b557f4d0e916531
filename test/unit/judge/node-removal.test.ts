import { describe, expect, it } from 'vitest';
import { formatTaint, type Taint } from '../../../src/kubernetes/taint.ts';
import type { PolicySet, Requester } from '../../../src/policy/policy-set.ts';
import type { TaintMode, TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import { policySet } from '../policy/policies.ts';
import { driftOf, lossesOf, nodeOf, rule } from './node-drifts.ts';
import { type NodeLife, nodeLife, settle } from './node-life.ts';
import { admitted, cpu, DEVELOPER, gpu, KUBELET, other, policyOf } from './node-updates.ts';

const GPU = 'dedicated=gpu:NoSchedule';
const CPU = 'dedicated=cpu:NoSchedule';
const AUTOSCALER: Requester = { username: 'autoscaler', groups: [] };
const PRESENT = { key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' } as const;
const PRESENT_GPU = { ...PRESENT, value: 'gpu' } as const;
const PROTECTED = { key: 'dedicated', restrict: ['Removal'] } as const;

const exempting = (mode: TaintMode, more: Partial<TaintPolicySpec> = {}): TaintPolicySpec => ({
  mode,
  taints: [PRESENT_GPU],
  exempt: { users: [AUTOSCALER.username] },
  ...more,
});
const RESTORE = policySet({ taint: { p: exempting('Restore') } });
const FORBIDDEN = policySet({ taint: { p: exempting('Restore', { removalByAnnotation: 'Forbidden' }) } });

/** What the record lists: `TAINT` for one that the node is to carry, `TAINT removed` for one that was removed with permission. */
const listed = ({ record }: NodeLife) =>
  (record?.taints ?? []).map((taint) => `${formatTaint(taint)}${taint.removedAt === undefined ? '' : ' removed'}`);
const taintsOf = ({ node }: NodeLife) => node.taints.map(formatTaint);

/** A node whose taint an exempt user has just removed. */
function without(policies: PolicySet, taints: readonly Taint[] = [gpu, other]): NodeLife {
  const life = nodeLife(policies, taints);
  settle(life);
  expect(life.update({ taints: taints.filter(({ key }) => key !== 'dedicated') }, AUTOSCALER)).toBe(true);
  return life;
}

describe('a required taint that an exempt user removes', () => {
  it.each(['Restore', 'Deny'] as const)(
    'stays off, and the leader deletes the notice once the removal is recorded: mode %s',
    (mode) => {
      const life = without(policySet({ taint: { p: exempting(mode) } }));
      expect(life.node.allowRemoval).toBe(`${GPU}-`);
      expect(life.repair()).toBeUndefined();
      settle(life);
      expect(listed(life)).toEqual([`${GPU} removed`]);
      expect(life.node).toMatchObject({ taints: [other], allowRemoval: undefined });
    },
  );

  it.each([
    { when: 'before the record was written', settled: false },
    { when: 'after that', settled: true },
  ])('stays off when the leader is replaced $when', ({ settled }) => {
    const life = without(RESTORE);
    if (settled) settle(life);
    life.stopLeader();
    life.startLeader();
    settle(life);
    expect(life.node).toMatchObject({ taints: [other], allowRemoval: undefined });
  });

  it('stays off when no leader watched', () => {
    const life = nodeLife(RESTORE, [gpu]);
    life.stopLeader();
    life.update({ taints: [] }, AUTOSCALER);
    life.startLeader();
    settle(life);
    expect(life.node).toMatchObject({ taints: [], allowRemoval: undefined });
  });

  it('and gives another value keeps that one', () => {
    const life = nodeLife(RESTORE, [gpu]);
    life.update({ taints: [cpu] }, AUTOSCALER);
    settle(life);
    expect(taintsOf(life)).toEqual([CPU]);
    expect(listed(life)).toEqual([`${GPU} removed`]);
  });

  it.each(['Allowed', 'Forbidden'] as const)(
    'is any of the values that the policy takes: removal by annotation %s',
    (removalByAnnotation) => {
      const policies = policySet({ taint: { p: exempting('Restore', { taints: [PRESENT], removalByAnnotation }) } });
      const life = without(policies, [cpu]);
      expect(life.node.allowRemoval).toBe(`${CPU}-`);
      settle(life);
      expect(life.node).toMatchObject({ taints: [], allowRemoval: undefined });
      expect(listed(life)).toEqual([`${CPU} removed`]);
    },
  );

  it('is protected again once a user has set it', () => {
    const life = without(RESTORE);
    settle(life);
    life.update({ taints: [other, gpu] }, DEVELOPER);
    settle(life);
    expect(listed(life)).toEqual([]);
    life.update({ taints: [other] }, DEVELOPER);
    expect(taintsOf(life)).toEqual([formatTaint(other), GPU]);
  });

  it('is protected again once it was set while the webhook was not called', () => {
    const life = without(RESTORE);
    settle(life);
    life.bypass({ taints: [gpu] });
    settle(life);
    life.bypass({ taints: [] });
    settle(life);
    expect(taintsOf(life)).toEqual([GPU]);
  });

  it('beside others: each gets a notice, in the order of removal', () => {
    const taints = [PRESENT_GPU, { ...PRESENT, key: 'other' }];
    const life = nodeLife(policySet({ taint: { p: exempting('Restore', { taints }) } }), [gpu, other]);
    life.update({ taints: [gpu] }, AUTOSCALER);
    life.update({ taints: [] }, AUTOSCALER);
    expect(life.node.allowRemoval).toBe(`other=:NoSchedule-, ${GPU}-`);
    settle(life);
    expect(listed(life)).toEqual([`${GPU} removed`, 'other:NoSchedule removed']);
    expect(life.node).toMatchObject({ taints: [], allowRemoval: undefined });
  });

  it('stays off where the policy forbids removal by annotation', () => {
    const life = without(FORBIDDEN);
    settle(life);
    life.stopLeader();
    life.startLeader();
    settle(life);
    expect(life.node).toMatchObject({ taints: [other], allowRemoval: undefined });
  });

  it('stays off then though another user has announced it before', () => {
    const life = nodeLife(FORBIDDEN, [gpu]);
    life.update({ allowRemoval: GPU }, DEVELOPER);
    settle(life);
    life.update({ taints: [] }, AUTOSCALER);
    settle(life);
    expect(life.node).toMatchObject({ taints: [], allowRemoval: undefined });
  });

  it('comes back where the policy forbids removal by annotation, and no leader saw the removal', () => {
    const life = nodeLife(FORBIDDEN, [gpu]);
    life.stopLeader();
    life.update({ taints: [] }, AUTOSCALER);
    life.startLeader();
    settle(life);
    expect(life.node).toMatchObject({ taints: [gpu], allowRemoval: undefined });
  });
});

describe('a required taint that was removed as announced', () => {
  it('stays off', () => {
    const life = nodeLife(policyOf('Restore', [PRESENT_GPU]), [gpu]);
    life.update({ allowRemoval: GPU }, DEVELOPER);
    expect(settle(life)).toBe(0);
    life.update({ taints: [] }, DEVELOPER);
    settle(life);
    expect(life.node).toMatchObject({ taints: [], allowRemoval: undefined });
    expect(listed(life)).toEqual([`${GPU} removed`]);
  });

  it('comes back where the annotation was written after the removal, and the leader has repaired the node before', () => {
    const life = nodeLife(policyOf('Restore', [PRESENT_GPU]), [gpu]);
    life.bypass({ taints: [] });
    settle(life);
    life.update({ allowRemoval: GPU }, DEVELOPER);
    settle(life);
    expect(life.node).toMatchObject({ taints: [gpu], allowRemoval: GPU });
  });
});

describe('a protected taint', () => {
  it.each(['Allowed', 'Forbidden'] as const)(
    'that an exempt user removes is not restored: removal by annotation %s',
    (removalByAnnotation) => {
      const life = without(
        policySet({ taint: { p: exempting('Restore', { taints: [PROTECTED], removalByAnnotation }) } }),
      );
      settle(life);
      expect(life.node).toMatchObject({ taints: [other], allowRemoval: undefined });
      expect(listed(life)).toEqual([]);
    },
  );

  it('that is lost is restored, whatever the annotation says where that gives no permission', () => {
    const policies = policyOf('Restore', [PROTECTED], { removalByAnnotation: 'Forbidden' });
    for (const allowRemoval of [undefined, GPU, 'dedicated:NoSchedule']) {
      const life = nodeLife(policies, [gpu]);
      settle(life);
      life.bypass({ allowRemoval });
      life.bypass({ taints: [] });
      settle(life);
      expect(life.node).toMatchObject({ taints: [gpu], allowRemoval: undefined });
    }
  });
});

describe('the annotation allow-removal after an update', () => {
  const protects: TaintPolicySpec = { mode: 'Restore', taints: [PROTECTED], exempt: { users: [AUTOSCALER.username] } };
  const restore = policySet({ taint: { p: protects } });
  const annotationAfter = (update: Parameters<typeof admitted>[1], policies = restore) => {
    const { desired } = admitted(policies, update);
    return desired ? desired.allowRemoval : update.newAllowRemoval;
  };

  it.each<{ why: string; update: Parameters<typeof admitted>[1]; expected: string | undefined }>([
    {
      why: 'an exempt removal gets a notice',
      update: { before: [gpu], after: [], requester: AUTOSCALER },
      expected: `${GPU}-`,
    },
    {
      why: 'one for the empty value as well, beside those that were there',
      update: {
        ...{ before: [{ ...gpu, value: '' }], after: [], requester: AUTOSCALER },
        ...{ oldAllowRemoval: 'a:NoExecute', newAllowRemoval: 'a:NoExecute' },
      },
      expected: 'a:NoExecute, dedicated=:NoSchedule-',
    },
    {
      why: 'an exempt change of the value gets one for the old value',
      update: { before: [gpu], after: [cpu], requester: AUTOSCALER },
      expected: `${GPU}-`,
    },
    {
      why: 'in place of an announcement that the request brings',
      update: { before: [gpu], after: [], requester: AUTOSCALER, newAllowRemoval: 'dedicated:NoSchedule' },
      expected: `${GPU}-`,
    },
    {
      why: 'an announced removal uses up the announcement',
      update: { before: [gpu], after: [], oldAllowRemoval: GPU, newAllowRemoval: GPU },
      expected: `${GPU}-`,
    },
    {
      why: 'an announced removal gets a notice also where the request deletes the announcement',
      update: { before: [gpu], after: [], oldAllowRemoval: 'dedicated:NoSchedule' },
      expected: `${GPU}-`,
    },
    {
      why: 'an addition deletes the notice',
      update: {
        before: [],
        after: [gpu],
        oldAllowRemoval: `${GPU}-, a:NoExecute`,
        newAllowRemoval: `${GPU}-, a:NoExecute`,
      },
      expected: 'a:NoExecute',
    },
    {
      why: 'an addition keeps an announcement',
      update: { before: [], after: [gpu], newAllowRemoval: GPU },
      expected: GPU,
    },
    {
      why: 'an addition keeps the notice of another value',
      update: { before: [], after: [gpu], oldAllowRemoval: `${CPU}-`, newAllowRemoval: `${CPU}-` },
      expected: `${CPU}-`,
    },
    {
      why: 'one that names both values is replaced when an exempt user changes the value',
      update: {
        ...{ before: [gpu], after: [cpu], requester: AUTOSCALER },
        ...{ oldAllowRemoval: 'dedicated:NoSchedule', newAllowRemoval: 'dedicated:NoSchedule' },
      },
      expected: `${GPU}-`,
    },
    {
      why: 'one that is too long to be read is written anew',
      update: { before: [gpu], after: [], requester: AUTOSCALER, newAllowRemoval: `${GPU},`.repeat(3_000) },
      expected: `${GPU}-`,
    },
    {
      why: 'a restored taint gets none',
      update: { before: [gpu], after: [], requester: DEVELOPER },
      expected: undefined,
    },
    { why: 'a taint that no policy protects gets none', update: { before: [other], after: [] }, expected: undefined },
    {
      why: 'an addition of a taint that no policy protects deletes none',
      update: { before: [], after: [other], oldAllowRemoval: 'other:NoSchedule', newAllowRemoval: 'other:NoSchedule' },
      expected: 'other:NoSchedule',
    },
  ])('$why', ({ update, expected }) => {
    expect(annotationAfter(update)).toBe(expected);
  });

  it('is not written for a policy in mode Audit', () => {
    const audit = policySet({ taint: { p: { ...protects, mode: 'Audit' } } });
    expect(annotationAfter({ before: [gpu], after: [], requester: AUTOSCALER }, audit)).toBeUndefined();
  });

  it('is not written where another policy restores the taint', () => {
    const policies = policySet({ taint: { p: protects, q: { mode: 'Restore', taints: [PROTECTED] } } });
    expect(annotationAfter({ before: [gpu], after: [], requester: AUTOSCALER }, policies)).toBeUndefined();
  });

  it("is not written in a node's own update, which is never patched", () => {
    const policies = policySet({ taint: { p: { ...protects, exempt: { groups: ['system:nodes'] } } } });
    expect(annotationAfter({ before: [gpu], after: [], requester: KUBELET }, policies)).toBeUndefined();
  });

  it('is not written where the request is refused for another taint', () => {
    const policies = policySet({
      taint: { p: protects, q: { mode: 'Deny', taints: [{ key: 'other', restrict: ['Removal'] }] } },
    });
    expect(annotationAfter({ before: [gpu, other], after: [], requester: AUTOSCALER }, policies)).toBeUndefined();
  });
});

describe('a record that lists a required taint as removed', () => {
  const drift = (policies: Record<string, TaintPolicySpec>, removed = GPU) =>
    driftOf(policies, nodeOf([]), undefined, { removed });

  it('makes it no loss, for each policy that requires it', () => {
    const found = drift({ p: exempting('Restore'), q: rule('Deny', PRESENT_GPU) });
    expect(found).toMatchObject({
      losses: [],
      removed: [
        { policy: { name: 'q' }, field: 'spec.taints[0]', taint: gpu },
        { policy: { name: 'p' }, field: 'spec.taints[0]', taint: gpu },
      ],
      desired: undefined,
    });
  });

  it('means the value that was removed: a policy that names another one now gets it', () => {
    const found = drift({ p: rule('Restore', { ...PRESENT, value: 'cpu' }) });
    expect(lossesOf(found)).toEqual([`p ${CPU}`]);
    expect(found).toMatchObject({ removed: [], desired: { taints: [cpu] } });
  });

  it('means any value where the policy takes any', () => {
    expect(drift({ p: rule('Restore', PRESENT) })).toMatchObject({ losses: [], desired: undefined });
  });

  it('means nothing once the node carries the taint', () => {
    expect(driftOf({ p: exempting('Restore') }, nodeOf([gpu]), undefined, { removed: GPU })).toMatchObject({
      losses: [],
      removed: [],
      desired: undefined,
    });
  });

  it('changes nothing while the policy changes its mode and back', () => {
    for (const mode of ['Audit', 'Deny', 'Restore'] as const) {
      expect(drift({ p: exempting(mode) })).toMatchObject({ losses: [], desired: undefined });
    }
  });
});

it('a removal leaves no notice where every policy only audits, also by an exempt user', () => {
  const removal = { before: [gpu], after: [], requester: AUTOSCALER };
  const audit = policySet({ taint: { p: { ...exempting('Audit'), taints: [PROTECTED] } } });
  expect(admitted(audit, removal)).toMatchObject({ action: 'allow', desired: undefined });
  const restore = policySet({ taint: { p: { ...exempting('Restore'), taints: [PROTECTED] } } });
  expect(admitted(restore, removal).desired?.allowRemoval).toBe(`${GPU}-`);
});
