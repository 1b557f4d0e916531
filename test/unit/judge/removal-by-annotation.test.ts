import { describe, expect, it } from 'vitest';
import type { PolicySet } from '../../../src/policy/policy-set.ts';
import type { TaintMode, TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../src/policy/taint-rule.ts';
import { policySet } from '../policy/policies.ts';
import { DEVELOPER, gpu, judgeUpdate, other, outcomes, policyOf, type Update } from './node-updates.ts';

const RULES: TaintRule[] = [
  { key: 'dedicated', restrict: ['Removal'] },
  { key: 'other', restrict: ['Removal'] },
];

describe('release by annotation', () => {
  const RELEASE = 'dedicated=gpu:NoSchedule';
  const deny = policyOf('Deny', RULES);

  it.each<TaintMode>(['Deny', 'Restore'])(
    'lets the taint go in mode %s once, and leaves a notice to the leader',
    (mode) => {
      const policies = policyOf(mode, [{ key: 'dedicated', restrict: ['Removal'] }]);
      const update = { before: [gpu], after: [], oldAllowRemoval: RELEASE, newAllowRemoval: RELEASE };
      expect(judgeUpdate(policies, 'mutate', update)).toMatchObject({
        ...{ action: 'patch', violations: [], warnings: [] },
        desired: { taints: [], allowRemoval: `${RELEASE}-` },
      });
      expect(judgeUpdate(policies, 'validate', { ...update, newAllowRemoval: `${RELEASE}-` })).toMatchObject({
        action: 'allow',
        violations: [{ policy: 'p', outcome: 'allowed-by-annotation', subject: 'dedicated=gpu:NoSchedule' }],
        warnings: ['TaintPolicy p allowed the removal of taint dedicated=gpu:NoSchedule by annotation'],
        auditAnnotations: { 'allowed-by-annotation': 'p: dedicated=gpu:NoSchedule' },
      });
    },
  );

  it('is neither honoured nor written for an Audit policy: that changes nothing', () => {
    const audit = policyOf('Audit', RULES, { exempt: { users: ['system:*'] } });
    for (const requester of [DEVELOPER, { username: 'system:x', groups: [] }]) {
      const update = { before: [gpu], after: [], oldAllowRemoval: RELEASE, newAllowRemoval: RELEASE, requester };
      expect(judgeUpdate(audit, 'mutate', update).action).toBe('allow');
    }
    const update = { before: [gpu], after: [], oldAllowRemoval: RELEASE };
    expect(outcomes(judgeUpdate(audit, 'validate', update))).toEqual(['p audited dedicated=gpu:NoSchedule']);
  });

  it.each<{ why: string; update: Update }>([
    { why: 'set in the same request', update: { before: [gpu], after: [], newAllowRemoval: RELEASE } },
    { why: 'for another taint', update: { before: [gpu], after: [], oldAllowRemoval: 'other:NoSchedule' } },
    { why: 'for another value', update: { before: [gpu], after: [], oldAllowRemoval: 'dedicated=cpu:NoSchedule' } },
    { why: 'a notice', update: { before: [gpu], after: [], oldAllowRemoval: `${RELEASE}-` } },
    {
      why: 'still there: mutation was not called',
      update: { before: [gpu], after: [], oldAllowRemoval: RELEASE, newAllowRemoval: RELEASE },
    },
  ])('does not count when it is $why', ({ update }) => {
    expect(judgeUpdate(deny, 'validate', update).action).toBe('deny');
  });

  it('that is still set is named in the refusal', () => {
    const update = { before: [gpu], after: [], oldAllowRemoval: RELEASE, newAllowRemoval: RELEASE };
    expect(judgeUpdate(deny, 'validate', update)).toMatchObject({
      message:
        `node n1: removing taint ${RELEASE} is not allowed (TaintPolicy "p", spec.taints[0], mode Deny). ` +
        "Annotation taintkeeper.dev/allow-removal is still set: taintkeeper's mutating webhook, which removes it, was not called (to check: taintkeeper doctor).",
    });
  });

  it('is not written anew by a request that will be refused for another taint', () => {
    const update = { before: [gpu, other], after: [], oldAllowRemoval: RELEASE, newAllowRemoval: RELEASE };
    expect(judgeUpdate(deny, 'mutate', update)).toMatchObject({ action: 'allow', violations: [] });
    expect(outcomes(judgeUpdate(deny, 'validate', update))).toContain('p denied other:NoSchedule');
  });

  it('counts though the requester deletes it in the same request', () => {
    const update = { before: [gpu], after: [], oldAllowRemoval: RELEASE };
    expect(outcomes(judgeUpdate(deny, 'validate', update))).toEqual([
      'p allowed-by-annotation dedicated=gpu:NoSchedule',
    ]);
  });

  it('does not count with removalByAnnotation: Forbidden, and the message says so', () => {
    const never = policyOf('Deny', RULES, {
      removalByAnnotation: 'Forbidden',
    });
    expect(judgeUpdate(never, 'validate', { before: [gpu], after: [], oldAllowRemoval: RELEASE })).toMatchObject({
      action: 'deny',
      message: expect.stringContaining('TaintPolicy "p" does not allow removal by annotation'),
    });
  });

  it('does not count for a policy with removalByAnnotation: Forbidden next to one without', () => {
    const policies = policySet({
      taint: {
        open: { mode: 'Deny', taints: RULES },
        closed: {
          mode: 'Restore',
          taints: RULES,
          removalByAnnotation: 'Forbidden',
        },
      },
    });
    const decision = judgeUpdate(policies, 'mutate', {
      before: [gpu],
      after: [],
      oldAllowRemoval: RELEASE,
      newAllowRemoval: RELEASE,
    });
    expect(decision).toMatchObject({ action: 'patch', desired: { taints: [gpu], allowRemoval: RELEASE } });
    expect(outcomes(decision)).toEqual(['closed restored dedicated=gpu:NoSchedule']);
  });

  describe('is recorded when it is set, with what it will do:', () => {
    const never = policyOf('Deny', RULES, {
      removalByAnnotation: 'Forbidden',
    });
    it.each<{
      why: string;
      policies: PolicySet;
      newAllowRemoval: string;
      found: string[];
      warnings: string[];
    }>([
      {
        why: 'a protected taint may go',
        policies: deny,
        newAllowRemoval: RELEASE,
        found: ['p announced dedicated=gpu:NoSchedule'],
        warnings: ['TaintPolicy p allows the removal of taint dedicated=gpu:NoSchedule, once'],
      },
      {
        why: 'a required taint may go',
        policies: policyOf('Restore', [{ key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' }]),
        newAllowRemoval: RELEASE,
        found: ['p announced dedicated=gpu:NoSchedule'],
        warnings: ['TaintPolicy p allows the removal of taint dedicated=gpu:NoSchedule, once'],
      },
      {
        why: 'nothing, with removalByAnnotation: Forbidden',
        policies: never,
        newAllowRemoval: RELEASE,
        found: [],
        warnings: ['TaintPolicy p does not allow removal by annotation of taint dedicated=gpu:NoSchedule'],
      },
      {
        why: 'nothing, for a taint that is not there',
        policies: deny,
        newAllowRemoval: 'x:NoSchedule',
        found: [],
        warnings: ['taintkeeper.dev/allow-removal names no protected taint of this node'],
      },
      {
        why: 'nothing, where it cannot be read',
        policies: deny,
        newAllowRemoval: 'true',
        found: [],
        warnings: ['taintkeeper.dev/allow-removal: cannot read "true", expected key=value:Effect'],
      },
      {
        why: 'a protected taint may go, beside a notice and an entry that cannot be read',
        policies: deny,
        newAllowRemoval: `a:NoExecute-, ${RELEASE}, true`,
        found: ['p announced dedicated=gpu:NoSchedule'],
        warnings: [
          'TaintPolicy p allows the removal of taint dedicated=gpu:NoSchedule, once',
          'taintkeeper.dev/allow-removal: cannot read "true", expected key=value:Effect',
        ],
      },
      {
        why: 'nothing, where it has only notices',
        policies: deny,
        newAllowRemoval: 'a:NoExecute-, b:NoExecute-',
        found: [],
        warnings: [],
      },
      {
        why: 'nothing, where no policy binds',
        policies: policyOf('Audit', RULES),
        newAllowRemoval: 'true',
        found: [],
        warnings: [],
      },
    ])('$why', ({ policies, newAllowRemoval, found, warnings }) => {
      const update = { before: [gpu], after: [gpu], newAllowRemoval };
      const decision = judgeUpdate(policies, 'mutate', update);
      expect(decision).toMatchObject({ action: 'allow', warnings });
      expect(outcomes(decision)).toEqual(found);
      expect(judgeUpdate(policies, 'validate', update)).toMatchObject({
        action: 'allow',
        warnings: [],
        violations: [],
      });
    });

    it('nothing new when it was there before', () => {
      const update = { before: [gpu], after: [gpu], oldAllowRemoval: RELEASE, newAllowRemoval: RELEASE };
      expect(judgeUpdate(deny, 'mutate', update).violations).toEqual([]);
    });

    it('not where the same update will be refused', () => {
      const update = { before: [gpu, other], after: [gpu], newAllowRemoval: RELEASE };
      expect(judgeUpdate(deny, 'mutate', update)).toMatchObject({ violations: [], warnings: [] });
    });

    it('not by a policy that keeps no taints', () => {
      const policies = policyOf('Deny', [{ key: 'dedicated', restrict: ['Addition'] }]);
      const update = { before: [gpu], after: [gpu], newAllowRemoval: RELEASE };
      expect(judgeUpdate(policies, 'mutate', update)).toMatchObject({ violations: [], warnings: [] });
    });
  });

  it.each([RELEASE, 'dedicated:NoSchedule'])(
    'is kept by the advice for another taint, so that following it leads somewhere: %s',
    (allowRemoval) => {
      const update = { before: [gpu, other], after: [], oldAllowRemoval: allowRemoval, newAllowRemoval: allowRemoval };
      expect(judgeUpdate(deny, 'validate', update)).toMatchObject({
        message:
          `node n1: removing taint ${RELEASE} is not allowed (TaintPolicy "p", spec.taints[0], mode Deny). ` +
          'node n1: removing taint other:NoSchedule is not allowed (TaintPolicy "p", spec.taints[1], mode Deny). ' +
          `To remove it on purpose, first: kubectl annotate --overwrite node n1 taintkeeper.dev/allow-removal=${allowRemoval},other:NoSchedule`,
      });
    },
  );

  it('is advised for at most eight taints at once', () => {
    const taints = Array.from({ length: 9 }, (_, n) => ({ key: `t${n}`, effect: 'NoSchedule' }));
    const rules = taints.map(({ key }): TaintRule => ({ key, restrict: ['Removal'] }));
    const { message } = judgeUpdate(policyOf('Deny', rules), 'validate', { before: taints, after: [] }) as {
      message?: string;
    };
    const named = taints.slice(0, 8).map(({ key }) => `${key}:NoSchedule`);
    expect(message?.split('allow-removal=')).toEqual([expect.any(String), named.join(',')]);
  });

  it('is not repeated in a command that a user may paste into a shell, unless it is harmless', () => {
    const oldAllowRemoval = 'a$(reboot):NoSchedule, b;reboot:NoSchedule, c=1:NoSchedule';
    const decision = judgeUpdate(deny, 'validate', {
      before: [gpu],
      after: [],
      oldAllowRemoval,
      newAllowRemoval: oldAllowRemoval,
    });
    expect(decision).toMatchObject({
      message: expect.stringContaining('taintkeeper.dev/allow-removal=c=1:NoSchedule,dedicated=gpu:NoSchedule'),
    });
    expect(decision).not.toMatchObject({ message: expect.stringContaining('reboot') });
  });

  it('is not advised for a taint that another policy protects which forbids it', () => {
    const spec = (key: string, more: Partial<TaintPolicySpec> = {}): TaintPolicySpec => ({
      ...{ mode: 'Deny', taints: [{ key, restrict: ['Removal'] }], removalByAnnotation: 'Forbidden' },
      ...more,
    });
    const policies = policySet({
      taint: { a: spec('dedicated', { removalByAnnotation: 'Allowed' }), b: spec('dedicated'), c: spec('other') },
    });
    expect(judgeUpdate(policies, 'validate', { before: [gpu, other], after: [] })).toMatchObject({
      message:
        `node n1: removing taint ${RELEASE} is not allowed (TaintPolicy "a", spec.taints[0], mode Deny; TaintPolicy "b", spec.taints[0], mode Deny). ` +
        'node n1: removing taint other:NoSchedule is not allowed (TaintPolicy "c", spec.taints[0], mode Deny). ' +
        'TaintPolicies "b", "c" do not allow removal by annotation: change the policies first.',
    });
  });

  it('gives both advices where one policy is open and one closed', () => {
    const policies = policySet({
      taint: {
        open: { mode: 'Deny', taints: [{ key: 'dedicated', restrict: ['Removal'] }] },
        closed: { mode: 'Deny', taints: [{ key: 'other', restrict: ['Removal'] }], removalByAnnotation: 'Forbidden' },
      },
    });
    const decision = judgeUpdate(policies, 'validate', { before: [gpu, other], after: [] });
    expect(decision).toMatchObject({
      message: expect.stringMatching(
        /TaintPolicy "closed" does not allow removal by annotation.*kubectl annotate .*=dedicated=gpu:NoSchedule$/,
      ),
    });
  });

  it('that cannot be read is named in the refusal', () => {
    const decision = judgeUpdate(deny, 'validate', {
      before: [gpu],
      after: [],
      oldAllowRemoval: 'dedicated, x:noschedule',
      newAllowRemoval: 'dedicated, x:noschedule',
    });
    expect(decision).toMatchObject({
      message:
        `node n1: removing taint ${RELEASE} is not allowed (TaintPolicy "p", spec.taints[0], mode Deny). ` +
        'Annotation taintkeeper.dev/allow-removal: cannot read "dedicated", "x:noschedule", expected key=value:Effect. ' +
        `To remove it on purpose, first: kubectl annotate --overwrite node n1 taintkeeper.dev/allow-removal=${RELEASE}`,
    });
  });
});
