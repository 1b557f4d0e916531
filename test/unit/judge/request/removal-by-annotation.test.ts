import { describe, expect, it } from 'vitest';
import type { TaintMode, TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../../src/policy/taint-rule.ts';
import { policySet } from '../../policy/policies.ts';
import { admitted, DEVELOPER, gpu, judgeUpdate, KUBELET, outcomes, policyOf, type Update } from './node-updates.ts';

const RULES: TaintRule[] = [{ key: 'dedicated' }, { key: 'other' }];
const GPU = 'dedicated=gpu:NoSchedule';
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

  it('allows the removal repeatedly while it stands', () => {
    for (let round = 0; round < 3; round++) {
      const update = { before: [gpu], after: [], oldAllowRemoval: GPU, newAllowRemoval: GPU };
      expect(admitted(deny, update)).toMatchObject({ action: 'allow', outcomes: [`p allowed by annotation ${GPU}`] });
    }
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

  it('is neither read nor written for an Audit policy, which changes nothing', () => {
    const audit = policyOf('Audit', RULES, { exempt: { users: ['system:*'] } });
    for (const requester of [DEVELOPER, { username: 'system:x', groups: [] }]) {
      const update = { before: [gpu], after: [], oldAllowRemoval: GPU, newAllowRemoval: GPU, requester };
      expect(judgeUpdate(audit, 'mutate', update).action).toBe('allow');
    }
    const update = { before: [gpu], after: [], oldAllowRemoval: GPU };
    expect(outcomes(judgeUpdate(audit, 'validate', update))).toEqual([`p audited ${GPU}`]);
  });

  it('that cannot be read is named in the refusal; the readable ones stay in the command', () => {
    const update = { before: [gpu], after: [], oldAllowRemoval: 'other:NoSchedule, dedicated=gpu' };
    expect(judgeUpdate(deny, 'validate', update)).toMatchObject({
      message:
        `node n1: removing taint ${GPU} is not allowed (TaintPolicy "p", spec.taints[0], mode Deny). ` +
        'Annotation taintkeeper.dev/allow-removal: cannot read "dedicated=gpu", expected key=value:Effect. ' +
        `To allow it, and then remove it: kubectl annotate --overwrite node n1 taintkeeper.dev/allow-removal=other:NoSchedule,${GPU}`,
    });
  });
});

describe("an exempt user's removal", () => {
  const ALWAYS = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' } as const;
  const exempting = (more: Partial<TaintPolicySpec> = {}): TaintPolicySpec => ({
    mode: 'Restore',
    taints: [ALWAYS],
    exempt: { users: [AUTOSCALER.username] },
    ...more,
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
