import { describe, expect, it } from 'vitest';
import type { PolicySet } from '../../../../src/policy/policy-set.ts';
import type { TaintMode, TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../../src/policy/taint-rule.ts';
import { policySet } from '../../policy/policies.ts';
import {
  admitted,
  cpu,
  DEVELOPER,
  gpu,
  judgeUpdate,
  KUBELET,
  other,
  outcomes,
  policyOf,
  type Update,
} from './node-updates.ts';

const RULES: TaintRule[] = [{ key: 'dedicated' }, { key: 'other' }];
const GPU = 'dedicated=gpu:NoSchedule';
const CPU = 'dedicated=cpu:NoSchedule';
const AUTOSCALER = { username: 'autoscaler', groups: [] };

describe('an entry of the annotation', () => {
  const deny = policyOf('Deny', RULES);

  it.each<TaintMode>(['Deny', 'Restore'])('lets the taint be removed in mode %s, and stands', (mode) => {
    const policies = policyOf(mode, [{ key: 'dedicated' }]);
    const update = { before: [gpu], after: [], oldAllowRemoval: GPU, newAllowRemoval: GPU };
    expect(judgeUpdate(policies, 'mutate', update)).toMatchObject({ action: 'allow', violations: [], warnings: [] });
    expect(judgeUpdate(policies, 'validate', update)).toMatchObject({
      action: 'allow',
      violations: [{ policy: 'p', result: 'AllowedByAnnotation', subject: GPU }],
      warnings: [`TaintPolicy p allowed the removal of taint ${GPU} by annotation`],
      auditAnnotations: { 'allowed-by-annotation': `p: ${GPU}` },
    });
  });

  it('allows the removal again, and again: it is a standing statement', () => {
    for (let round = 0; round < 3; round++) {
      const update = { before: [gpu], after: [], oldAllowRemoval: GPU, newAllowRemoval: GPU };
      expect(admitted(deny, update)).toMatchObject({ action: 'allow', outcomes: [`p allowed by annotation ${GPU}`] });
    }
  });

  it.each<{ why: string; update: Update }>([
    { why: 'written in the same request', update: { before: [gpu], after: [], newAllowRemoval: GPU } },
    { why: 'for another taint', update: { before: [gpu], after: [], oldAllowRemoval: 'other:NoSchedule' } },
    { why: 'for another value', update: { before: [gpu], after: [], oldAllowRemoval: CPU } },
    {
      why: 'for the taint without a value',
      update: { before: [gpu], after: [], oldAllowRemoval: 'dedicated:NoSchedule' },
    },
    { why: 'a notice, as earlier versions wrote it', update: { before: [gpu], after: [], oldAllowRemoval: `${GPU}-` } },
    { why: 'malformed', update: { before: [gpu], after: [], oldAllowRemoval: 'dedicated=gpu' } },
  ])('does not count when it is $why', ({ update }) => {
    expect(admitted(deny, update).action).toBe('deny');
    expect(admitted(policyOf('Restore', RULES), update).taints).toEqual([GPU]);
  });

  it('counts though the requester deletes it in the same request', () => {
    const update = { before: [gpu], after: [], oldAllowRemoval: GPU };
    expect(outcomes(judgeUpdate(deny, 'validate', update))).toEqual([`p allowed by annotation ${GPU}`]);
  });

  it('allows a change of the value that it names', () => {
    const update = { before: [gpu], after: [cpu], oldAllowRemoval: GPU, newAllowRemoval: GPU };
    expect(admitted(deny, update)).toMatchObject({ action: 'allow', taints: [CPU] });
  });

  it('does not count with removalByAnnotation: Forbidden, and the message says so', () => {
    const never = policyOf('Deny', RULES, { removalByAnnotation: 'Forbidden' });
    expect(judgeUpdate(never, 'validate', { before: [gpu], after: [], oldAllowRemoval: GPU })).toMatchObject({
      action: 'deny',
      message: expect.stringContaining(
        'TaintPolicy "p" does not allow removal by annotation: change the policy first.',
      ),
    });
  });

  it('does not count for a policy with removalByAnnotation: Forbidden next to one without', () => {
    const policies = policySet({
      taint: {
        open: { mode: 'Deny', taints: RULES },
        closed: { mode: 'Restore', taints: RULES, removalByAnnotation: 'Forbidden' },
      },
    });
    const update = { before: [gpu], after: [], oldAllowRemoval: GPU, newAllowRemoval: GPU };
    const decision = judgeUpdate(policies, 'mutate', update);
    expect(decision).toMatchObject({ action: 'patch', desired: { taints: [gpu], allowRemoval: GPU } });
    expect(outcomes(decision)).toEqual([`closed restored ${GPU}`]);
  });

  it('is neither read nor written for an Audit policy: that changes nothing', () => {
    const audit = policyOf('Audit', RULES, { exempt: { users: ['system:*'] } });
    for (const requester of [DEVELOPER, { username: 'system:x', groups: [] }]) {
      const update = { before: [gpu], after: [], oldAllowRemoval: GPU, newAllowRemoval: GPU, requester };
      expect(judgeUpdate(audit, 'mutate', update).action).toBe('allow');
    }
    const update = { before: [gpu], after: [], oldAllowRemoval: GPU };
    expect(outcomes(judgeUpdate(audit, 'validate', update))).toEqual([`p audited ${GPU}`]);
  });

  it('that cannot be read is named in the refusal, beside those that are kept', () => {
    const update = { before: [gpu], after: [], oldAllowRemoval: 'other:NoSchedule, dedicated=gpu' };
    expect(judgeUpdate(deny, 'validate', update)).toMatchObject({
      message:
        `node n1: removing taint ${GPU} is not allowed (TaintPolicy "p", spec.taints[0], mode Deny). ` +
        'Annotation taintkeeper.dev/allow-removal: cannot read "dedicated=gpu", expected key=value:Effect. ' +
        `To allow it, and then remove it: kubectl annotate --overwrite node n1 taintkeeper.dev/allow-removal=other:NoSchedule,${GPU}`,
    });
  });
});

describe('an entry ends', () => {
  const annotationAfter = (update: Update, policies: PolicySet = policyOf('Restore', RULES)) => {
    const { desired } = admitted(policies, update);
    return desired ? desired.allowRemoval : update.newAllowRemoval;
  };

  it.each<{ why: string; update: Update; expected: string | undefined }>([
    {
      why: 'when a request sets the taint',
      update: {
        before: [],
        after: [gpu],
        oldAllowRemoval: `${GPU}, a:NoExecute`,
        newAllowRemoval: `${GPU}, a:NoExecute`,
      },
      expected: 'a:NoExecute',
    },
    {
      why: 'also one that the same request writes',
      update: { before: [], after: [gpu], newAllowRemoval: GPU },
      expected: undefined,
    },
    {
      why: 'not for another value',
      update: { before: [], after: [gpu], oldAllowRemoval: CPU, newAllowRemoval: CPU },
      expected: CPU,
    },
    {
      why: 'not for a taint that no policy protects',
      update: { before: [], after: [{ ...other, key: 'x' }], newAllowRemoval: 'x:NoSchedule' },
      expected: 'x:NoSchedule',
    },
    {
      why: 'not while the node carries the taint',
      update: { before: [gpu], after: [gpu, other], newAllowRemoval: GPU },
      expected: GPU,
    },
    {
      why: "not in a node's own update, which is never patched",
      update: { before: [], after: [gpu], newAllowRemoval: GPU, requester: KUBELET },
      expected: GPU,
    },
  ])('$why', ({ update, expected }) => {
    expect(annotationAfter(update)).toBe(expected);
  });

  it('not where every policy only audits', () => {
    const update = { before: [], after: [gpu], newAllowRemoval: GPU };
    expect(annotationAfter(update, policyOf('Audit', RULES))).toBe(GPU);
  });
});

describe("an exempt user's removal", () => {
  const ALWAYS = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' } as const;
  const ANY = { key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' } as const;
  const exempting = (more: Partial<TaintPolicySpec> = {}): TaintPolicySpec => ({
    mode: 'Restore',
    taints: [ALWAYS],
    exempt: { users: [AUTOSCALER.username] },
    ...more,
  });
  const annotationAfter = (policies: Record<string, TaintPolicySpec>, update: Partial<Update> = {}) => {
    const whole: Update = { before: [gpu], after: [], requester: AUTOSCALER, ...update };
    const { desired } = admitted(policySet({ taint: policies }), whole);
    return desired ? desired.allowRemoval : whole.newAllowRemoval;
  };

  it.each<{
    why: string;
    policies: Record<string, TaintPolicySpec>;
    update?: Partial<Update>;
    expected: string | undefined;
  }>([
    { why: 'of a required taint writes its entry', policies: { p: exempting() }, expected: GPU },
    { why: 'in mode Deny as well', policies: { p: exempting({ mode: 'Deny' }) }, expected: GPU },
    {
      why: 'of a taint that is required with any value writes the value that it had',
      policies: { p: exempting({ taints: [ANY] }) },
      update: { before: [cpu] },
      expected: CPU,
    },
    {
      why: 'beside entries that are there',
      policies: { p: exempting() },
      update: { newAllowRemoval: 'a:NoExecute' },
      expected: `a:NoExecute, ${GPU}`,
    },
    {
      why: 'that changes the required value keeps the leader from changing it back',
      policies: { p: exempting() },
      update: { after: [cpu] },
      expected: GPU,
    },
    {
      why: 'that changes a value which does not matter writes none: nothing is missing',
      policies: { p: exempting({ taints: [ANY] }) },
      update: { after: [cpu] },
      expected: undefined,
    },
    {
      why: 'of a protected taint writes none: the leader does not set it',
      policies: { p: exempting({ taints: [{ key: 'dedicated' }] }) },
      expected: undefined,
    },
    {
      why: 'that another policy restores writes none',
      policies: { p: exempting(), q: { mode: 'Restore', taints: [{ key: 'dedicated' }] } },
      expected: undefined,
    },
    {
      why: 'writes none in mode Audit',
      policies: { p: exempting({ mode: 'Audit' }) },
      expected: undefined,
    },
    {
      why: 'writes none where the node leaves the policy: it requires nothing there any more',
      policies: { p: exempting({ nodeSelector: { matchLabels: { pool: 'gpu' } } }) },
      update: { oldLabels: { pool: 'gpu' }, newLabels: {} },
      expected: undefined,
    },
    {
      why: 'writes none where a changed label puts the node under the policy: it sets the taint in the same request',
      policies: { p: exempting({ nodeSelector: { matchLabels: { pool: 'gpu' } } }) },
      update: { oldLabels: {}, newLabels: { pool: 'gpu' } },
      expected: undefined,
    },
    {
      why: 'writes none where a changed label puts the node under another policy that requires it',
      policies: { p: exempting(), q: exempting({ nodeSelector: { matchLabels: { pool: 'gpu' } } }) },
      update: { oldLabels: {}, newLabels: { pool: 'gpu' } },
      expected: undefined,
    },
    {
      why: 'writes none there for an evicting taint either, which only registration sets',
      policies: {
        p: exempting({
          taints: [{ ...ALWAYS, effect: 'NoExecute' }],
          nodeSelector: { matchLabels: { pool: 'gpu' } },
        }),
      },
      update: { before: [{ ...gpu, effect: 'NoExecute' }], oldLabels: {}, newLabels: { pool: 'gpu' } },
      expected: undefined,
    },
    {
      why: 'writes its entry where a changed label puts the node under a policy that requires another taint',
      policies: {
        p: exempting(),
        q: exempting({ taints: [{ ...ALWAYS, key: 'a' }], nodeSelector: { matchLabels: { pool: 'gpu' } } }),
      },
      update: { oldLabels: {}, newLabels: { pool: 'gpu' } },
      expected: GPU,
    },
    {
      why: 'is not written where the request is refused for another taint',
      policies: { p: exempting(), q: { mode: 'Deny', taints: [{ key: 'other' }] } },
      update: { before: [gpu, other] },
      expected: undefined,
    },
  ])('$why', ({ policies, update = {}, expected }) => {
    expect(annotationAfter(policies, update)).toBe(expected);
  });

  it('is reported as exempt, in mutation', () => {
    const policies = policySet({ taint: { p: exempting() } });
    const update: Update = { before: [gpu], after: [], requester: AUTOSCALER };
    expect(outcomes(judgeUpdate(policies, 'mutate', update))).toEqual([`p allowed by exemption ${GPU}`]);
    expect(admitted(policies, update)).toMatchObject({ action: 'patch', taints: [] });
  });

  it("in a node's own update is never patched", () => {
    const policies = policySet({ taint: { p: exempting({ exempt: { groups: ['system:nodes'] } }) } });
    expect(admitted(policies, { before: [gpu], after: [], requester: KUBELET }).desired).toBeUndefined();
  });
});
