import { describe, expect, it } from 'vitest';
import type { Decision } from '../../../src/policy/decision.ts';
import type { StringMap } from '../../../src/policy/label-selector.ts';
import { type DesiredNode, judgeNode } from '../../../src/policy/node.ts';
import type { PolicySet, Requester } from '../../../src/policy/policy-set.ts';
import type { Taint } from '../../../src/policy/taint.ts';
import type { TaintMode, TaintPolicySpec, TaintRule } from '../../../src/policy/taint-policy.ts';
import { policySet } from './policies.ts';

const DEVELOPER: Requester = { username: 'dev', groups: ['developers'] };
const KUBELET: Requester = { username: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] };

const gpu: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const cpu: Taint = { ...gpu, value: 'cpu' };
const other: Taint = { key: 'other', effect: 'NoSchedule' };
const notReady: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' };

interface Update {
  readonly before: readonly Taint[];
  readonly after: readonly Taint[];
  readonly oldLabels?: StringMap;
  readonly newLabels?: StringMap;
  readonly oldRelease?: string;
  readonly newRelease?: string;
  readonly requester?: Requester;
}

function judgeUpdate(policies: PolicySet, phase: 'mutate' | 'validate', update: Update): Decision<DesiredNode> {
  const {
    before,
    after,
    oldLabels = {},
    newLabels = oldLabels,
    oldRelease,
    newRelease,
    requester = DEVELOPER,
  } = update;
  return judgeNode(
    {
      operation: 'UPDATE',
      phase,
      requester,
      oldNode: { name: 'n1', labels: oldLabels, taints: before, release: oldRelease },
      node: { name: 'n1', labels: newLabels, taints: after, release: newRelease },
    },
    policies,
  );
}

function policyOf(mode: TaintMode, taints: TaintRule[], more: Partial<TaintPolicySpec> = {}): PolicySet {
  return policySet({ taint: { p: { mode, taints, ...more } } });
}

const outcomes = (decision: Decision<unknown>) =>
  decision.violations.map(({ policy, outcome, subject }) => `${policy} ${outcome} ${subject}`);

describe('Deny', () => {
  const deny = policyOf('Deny', [{ key: 'dedicated' }]);

  it.each<{ why: string; update: Update; refused: boolean }>([
    { why: 'a dropped taint', update: { before: [gpu], after: [] }, refused: true },
    { why: 'a changed value', update: { before: [gpu], after: [cpu] }, refused: true },
    { why: 'a changed effect', update: { before: [gpu], after: [{ ...gpu, effect: 'NoExecute' }] }, refused: true },
    { why: 'a taint that stays', update: { before: [gpu, other], after: [gpu] }, refused: false },
    { why: 'a taint that nobody protects', update: { before: [other], after: [] }, refused: false },
    { why: 'a taint that comes', update: { before: [], after: [gpu] }, refused: false },
    { why: 'another order', update: { before: [gpu, other], after: [other, gpu] }, refused: false },
    { why: "Kubernetes' own taint next to it", update: { before: [gpu, notReady], after: [gpu] }, refused: false },
  ])('$why: refused is $refused', ({ update, refused }) => {
    expect(judgeUpdate(deny, 'validate', update).verdict).toBe(refused ? 'deny' : 'allow');
    expect(judgeUpdate(deny, 'mutate', update).verdict).toBe('allow');
  });

  it('names the node, the taint, the policy, its field, and the way out', () => {
    const decision = judgeUpdate(deny, 'validate', { before: [gpu], after: [] });
    expect(decision).toMatchObject({
      verdict: 'deny',
      message:
        'node n1 must keep taint dedicated=gpu:NoSchedule, protected by TaintPolicy "p" (spec.taints[0], mode Deny). ' +
        'To remove it on purpose, first: kubectl annotate --overwrite node n1 taintkeeper.dev/release=dedicated=gpu:NoSchedule',
      auditAnnotations: { denied: 'p: dedicated=gpu:NoSchedule' },
      violations: [
        { policyKind: 'TaintPolicy', policy: 'p', field: 'spec.taints[0]', mode: 'Deny', outcome: 'denied' },
      ],
    });
  });
});

describe('Restore', () => {
  const restore = policyOf('Restore', [{ key: 'dedicated' }]);

  it.each<{ why: string; update: Update; desired: Taint[] }>([
    {
      why: 'appends what was dropped',
      update: { before: [gpu, other], after: [other, notReady] },
      desired: [other, notReady, gpu],
    },
    { why: 'puts the old value back in place', update: { before: [gpu], after: [cpu, other] }, desired: [gpu, other] },
    {
      why: 'keeps a taint of another effect',
      update: { before: [gpu], after: [{ ...gpu, effect: 'NoExecute' }] },
      desired: [{ ...gpu, effect: 'NoExecute' }, gpu],
    },
    { why: 'restores into an empty list', update: { before: [gpu], after: [] }, desired: [gpu] },
  ])('$why', ({ update, desired }) => {
    const decision = judgeUpdate(restore, 'mutate', update);
    expect(decision).toMatchObject({ verdict: 'patch', desired: { taints: desired } });
    expect(outcomes(decision)).toEqual(['p restored dedicated=gpu:NoSchedule']);
    expect(decision.warnings).toEqual(['TaintPolicy p put back taint dedicated=gpu:NoSchedule']);
  });

  it('never adds a Present taint that the node lacked before', () => {
    const present = policyOf('Restore', [{ key: 'dedicated', effect: 'NoSchedule', ensure: 'Present' }]);
    expect(judgeUpdate(present, 'mutate', { before: [], after: [other] }).verdict).toBe('allow');
  });

  it("never patches a node's own update, and refuses it instead", () => {
    const update = { before: [gpu], after: [], requester: KUBELET };
    expect(judgeUpdate(restore, 'mutate', update)).toMatchObject({ verdict: 'allow', violations: [] });
    expect(judgeUpdate(restore, 'validate', update)).toMatchObject({
      verdict: 'deny',
      message: expect.stringContaining("A node's own update is refused"),
    });
  });

  it('patches whoever is only called like a node', () => {
    const update = { before: [gpu], after: [], requester: { username: 'system:node:n1', groups: [] } };
    expect(judgeUpdate(restore, 'mutate', update).verdict).toBe('patch');
  });

  it('refuses in validation what something dropped again after mutation', () => {
    expect(judgeUpdate(restore, 'validate', { before: [gpu], after: [] })).toMatchObject({
      verdict: 'deny',
      message: expect.stringContaining("is taintkeeper's mutating webhook called"),
    });
  });
});

describe('Audit', () => {
  it('lets it pass, with a warning and a record, in validation only', () => {
    const audit = policyOf('Audit', [{ key: 'dedicated' }]);
    expect(judgeUpdate(audit, 'mutate', { before: [gpu], after: [] })).toMatchObject({
      verdict: 'allow',
      warnings: [],
    });
    expect(judgeUpdate(audit, 'validate', { before: [gpu], after: [] })).toMatchObject({
      verdict: 'allow',
      warnings: ['TaintPolicy p, Audit: taint dedicated=gpu:NoSchedule was dropped'],
      auditAnnotations: { audited: 'p: dedicated=gpu:NoSchedule' },
    });
  });

  it.each<TaintMode>(['Deny', 'Restore'])('takes the place of %s when asked for', (mode) => {
    const audit = policySet({ taint: { p: { mode, taints: [{ key: 'dedicated' }] } } }, { audit: true });
    expect(judgeUpdate(audit, 'mutate', { before: [gpu], after: [] }).verdict).toBe('allow');
    expect(outcomes(judgeUpdate(audit, 'validate', { before: [gpu], after: [] }))).toEqual([
      'p audited dedicated=gpu:NoSchedule',
    ]);
  });
});

describe('which taints a policy protects', () => {
  it.each<{ why: string; rule: TaintRule; taint: Taint; yes: boolean }>([
    { why: 'a key alone means every value', rule: { key: 'dedicated' }, taint: gpu, yes: true },
    {
      why: 'a key alone means every effect',
      rule: { key: 'dedicated' },
      taint: { ...gpu, effect: 'NoExecute' },
      yes: true,
    },
    { why: 'a value', rule: { key: 'dedicated', value: 'gpu' }, taint: gpu, yes: true },
    { why: 'another value', rule: { key: 'dedicated', value: 'gpu' }, taint: cpu, yes: false },
    { why: 'the empty value is a value', rule: { key: 'dedicated', value: '' }, taint: gpu, yes: false },
    { why: 'another effect', rule: { key: 'dedicated', effect: 'NoExecute' }, taint: gpu, yes: false },
    {
      why: 'a pattern',
      rule: { key: 'example.com/*' },
      taint: { key: 'example.com/a', effect: 'NoExecute' },
      yes: true,
    },
    { why: 'the pattern of everything', rule: { key: '*' }, taint: gpu, yes: true },
    { why: "never Kubernetes' own, by pattern", rule: { key: '*' }, taint: notReady, yes: false },
    {
      why: 'never a start-up taint, by pattern',
      rule: { key: 'node.cilium.io/*' },
      taint: { key: 'node.cilium.io/agent-not-ready', effect: 'NoSchedule' },
      yes: false,
    },
    { why: "Kubernetes' own, by its exact key", rule: { key: notReady.key }, taint: notReady, yes: true },
    {
      why: 'a Present taint is preserved, too',
      rule: { key: 'dedicated', effect: 'NoSchedule', ensure: 'Present' },
      taint: gpu,
      yes: true,
    },
  ])('$why: $yes', ({ rule, taint, yes }) => {
    const verdict = judgeUpdate(policyOf('Deny', [rule]), 'validate', { before: [taint], after: [] }).verdict;
    expect(verdict).toBe(yes ? 'deny' : 'allow');
  });
});

describe('which nodes a policy is for', () => {
  const pool = policyOf('Deny', [{ key: 'dedicated' }], { nodeSelector: { matchLabels: { pool: 'gpu' } } });
  it.each<{ why: string; oldLabels: StringMap; newLabels: StringMap; yes: boolean }>([
    { why: 'selected before and after', oldLabels: { pool: 'gpu' }, newLabels: { pool: 'gpu' }, yes: true },
    { why: 'a node cannot leave in the same update', oldLabels: { pool: 'gpu' }, newLabels: {}, yes: true },
    { why: 'a node that joins is held to it at once', oldLabels: {}, newLabels: { pool: 'gpu' }, yes: true },
    { why: 'never selected', oldLabels: { pool: 'cpu' }, newLabels: {}, yes: false },
  ])('$why: $yes', ({ oldLabels, newLabels, yes }) => {
    const decision = judgeUpdate(pool, 'validate', { before: [gpu], after: [], oldLabels, newLabels });
    expect(decision.verdict).toBe(yes ? 'deny' : 'allow');
  });
});

describe('whom a policy exempts', () => {
  const exempting = policyOf('Deny', [{ key: 'dedicated' }], {
    exempt: { users: ['system:serviceaccount:kube-system:*'], groups: ['breakglass'] },
  });
  it.each<{ why: string; requester: Requester; yes: boolean }>([
    {
      why: 'a user by pattern',
      requester: { username: 'system:serviceaccount:kube-system:autoscaler', groups: [] },
      yes: true,
    },
    { why: 'a member of a group', requester: { username: 'x', groups: ['a', 'breakglass'] }, yes: true },
    { why: 'a user who is called like the group', requester: { username: 'breakglass', groups: [] }, yes: false },
    { why: 'anybody else', requester: DEVELOPER, yes: false },
  ])('$why: $yes', ({ requester, yes }) => {
    const decision = judgeUpdate(exempting, 'validate', { before: [gpu], after: [], requester });
    expect(decision.verdict).toBe(yes ? 'allow' : 'deny');
    expect(outcomes(decision)).toEqual([`p ${yes ? 'exempt' : 'denied'} dedicated=gpu:NoSchedule`]);
  });
});

describe('a node that leaves a policy by its labels', () => {
  const pool = policyOf('Deny', [{ key: 'dedicated' }], { nodeSelector: { matchLabels: { pool: 'gpu' } } });
  const leaving = { before: [gpu], oldLabels: { pool: 'gpu' }, newLabels: {} };

  it('may do so, and it is recorded if it carries a protected taint', () => {
    const decision = judgeUpdate(pool, 'validate', { ...leaving, after: [gpu] });
    expect(outcomes(decision)).toEqual(['p unselected dedicated=gpu:NoSchedule']);
    expect(decision).toMatchObject({
      verdict: 'allow',
      warnings: ['TaintPolicy p no longer protects taint dedicated=gpu:NoSchedule: the node left it'],
    });
  });

  it('is not worth a word otherwise', () => {
    expect(judgeUpdate(pool, 'validate', { ...leaving, before: [other], after: [other] }).violations).toEqual([]);
  });
});

describe('several policies on one taint', () => {
  const modes = ['Audit', 'Restore', 'Deny'] as const;
  it.each(modes.flatMap((a) => modes.map((b) => ({ a, b }))))('$a and $b: the stronger wins', ({ a, b }) => {
    const policies = policySet({
      taint: { a: { mode: a, taints: [{ key: 'dedicated' }] }, b: { mode: b, taints: [{ key: '*' }] } },
    });
    const stronger = modes[Math.max(modes.indexOf(a), modes.indexOf(b))];
    const mutation = judgeUpdate(policies, 'mutate', { before: [gpu], after: [] });
    const validation = judgeUpdate(policies, 'validate', { before: [gpu], after: [] });
    expect(mutation.verdict).toBe(stronger === 'Restore' ? 'patch' : 'allow');
    expect(validation.verdict).toBe(stronger === 'Audit' ? 'allow' : 'deny');
    const found = stronger === 'Restore' ? mutation : validation;
    expect(found.violations.map(({ policy }) => policy)).toEqual([
      ...(a === stronger ? ['a'] : []),
      ...(b === stronger ? ['b'] : []),
    ]);
  });

  it('an exemption from one is none from the other', () => {
    const policies = policySet({
      taint: {
        lenient: { mode: 'Deny', taints: [{ key: 'dedicated' }], exempt: { users: ['dev'] } },
        strict: { mode: 'Restore', taints: [{ key: 'dedicated' }] },
      },
    });
    expect(outcomes(judgeUpdate(policies, 'mutate', { before: [gpu], after: [] }))).toEqual([
      'strict restored dedicated=gpu:NoSchedule',
    ]);
  });

  it('each taint of one update has the mode of its own policies', () => {
    const policies = policySet({
      taint: {
        d: { mode: 'Deny', taints: [{ key: 'dedicated' }] },
        r: { mode: 'Restore', taints: [{ key: 'other' }] },
      },
    });
    const update = { before: [gpu, other], after: [] };
    // What will be refused is restored all the same, in case validation is not called; but nothing is reported of it.
    expect(judgeUpdate(policies, 'mutate', update)).toMatchObject({
      verdict: 'patch',
      desired: { taints: [other] },
      violations: [],
      warnings: [],
    });
    expect(outcomes(judgeUpdate(policies, 'validate', { ...update, after: [other] }))).toEqual([
      'd denied dedicated=gpu:NoSchedule',
    ]);
  });
});

describe('release by annotation', () => {
  const RELEASE = 'dedicated=gpu:NoSchedule';
  const deny = policyOf('Deny', [{ key: '*' }]);

  it.each<TaintMode>(['Deny', 'Restore'])('lets the taint go in mode %s, and takes the annotation along', (mode) => {
    const policies = policyOf(mode, [{ key: 'dedicated' }]);
    const update = { before: [gpu], after: [], oldRelease: RELEASE, newRelease: RELEASE };
    expect(judgeUpdate(policies, 'mutate', update)).toMatchObject({
      verdict: 'patch',
      desired: { taints: [], release: undefined },
      violations: [],
    });
    expect(judgeUpdate(policies, 'validate', { before: [gpu], after: [], oldRelease: RELEASE })).toMatchObject({
      verdict: 'allow',
      violations: [{ policy: 'p', outcome: 'released', subject: 'dedicated=gpu:NoSchedule' }],
      warnings: ['TaintPolicy p released taint dedicated=gpu:NoSchedule'],
      auditAnnotations: { released: 'p: dedicated=gpu:NoSchedule' },
    });
  });

  it('is neither honoured nor used up by an Audit policy: that changes nothing', () => {
    const audit = policyOf('Audit', [{ key: '*' }], { exempt: { users: ['system:*'] } });
    for (const requester of [DEVELOPER, { username: 'system:x', groups: [] }]) {
      const update = { before: [gpu], after: [], oldRelease: RELEASE, newRelease: RELEASE, requester };
      expect(judgeUpdate(audit, 'mutate', update).verdict).toBe('allow');
    }
    const update = { before: [gpu], after: [], oldRelease: RELEASE };
    expect(outcomes(judgeUpdate(audit, 'validate', update))).toEqual(['p audited dedicated=gpu:NoSchedule']);
  });

  it('is used up when somebody exempt removes the taint, too', () => {
    const exempting = policyOf('Deny', [{ key: '*' }], { exempt: { users: ['dev'] } });
    const update = { before: [gpu], after: [], oldRelease: RELEASE, newRelease: RELEASE };
    expect(judgeUpdate(exempting, 'mutate', update)).toMatchObject({
      verdict: 'patch',
      desired: { release: undefined },
    });
  });

  it.each<{ why: string; update: Update }>([
    { why: 'set in the same request', update: { before: [gpu], after: [], newRelease: RELEASE } },
    { why: 'for another taint', update: { before: [gpu], after: [], oldRelease: 'other:NoSchedule' } },
    {
      why: 'still there after mutation, so that it could be used again',
      update: { before: [gpu], after: [], oldRelease: RELEASE, newRelease: RELEASE },
    },
  ])('does not count when it is $why', ({ update }) => {
    expect(judgeUpdate(deny, 'validate', update).verdict).toBe('deny');
  });

  it('keeps the entries that were not used', () => {
    const release = `other:NoSchedule, ${RELEASE}`;
    const decision = judgeUpdate(deny, 'mutate', {
      before: [gpu, other],
      after: [other],
      oldRelease: release,
      newRelease: release,
    });
    expect(decision).toMatchObject({ verdict: 'patch', desired: { release: 'other:NoSchedule' } });
  });

  it('is not used up by a request that will be refused for another taint', () => {
    const update = { before: [gpu, other], after: [], oldRelease: RELEASE, newRelease: RELEASE };
    expect(judgeUpdate(deny, 'mutate', update)).toMatchObject({ verdict: 'allow', violations: [] });
    expect(outcomes(judgeUpdate(deny, 'validate', update))).toContain('p denied other:NoSchedule');
  });

  it('is recorded when the requester takes the annotation out in the same request', () => {
    const update = { before: [gpu], after: [], oldRelease: RELEASE };
    expect(judgeUpdate(deny, 'mutate', update)).toMatchObject({ verdict: 'allow', violations: [] });
    expect(outcomes(judgeUpdate(deny, 'validate', update))).toEqual(['p released dedicated=gpu:NoSchedule']);
  });

  it('does not count with release: Never, and the message says so', () => {
    const never = policyOf('Deny', [{ key: '*' }], { release: 'Never' });
    expect(judgeUpdate(never, 'validate', { before: [gpu], after: [], oldRelease: RELEASE })).toMatchObject({
      verdict: 'deny',
      message: expect.stringContaining('TaintPolicy "p" allows no release'),
    });
  });

  it('does not count for a policy with release: Never next to one without', () => {
    const policies = policySet({
      taint: {
        open: { mode: 'Deny', taints: [{ key: '*' }] },
        closed: { mode: 'Restore', taints: [{ key: '*' }], release: 'Never' },
      },
    });
    const decision = judgeUpdate(policies, 'mutate', {
      before: [gpu],
      after: [],
      oldRelease: RELEASE,
      newRelease: RELEASE,
    });
    expect(decision).toMatchObject({ verdict: 'patch', desired: { taints: [gpu], release: RELEASE } });
    expect(outcomes(decision)).toEqual(['closed restored dedicated=gpu:NoSchedule']);
  });

  describe('is recorded when it is set, with what it will do:', () => {
    const never = policyOf('Deny', [{ key: '*' }], { release: 'Never' });
    it.each<{ why: string; policies: PolicySet; newRelease: string; found: string[]; warnings: string[] }>([
      {
        why: 'a protected taint may go',
        policies: deny,
        newRelease: RELEASE,
        found: ['p announced dedicated=gpu:NoSchedule'],
        warnings: ['TaintPolicy p now lets taint dedicated=gpu:NoSchedule go, once'],
      },
      {
        why: 'nothing, with release: Never',
        policies: never,
        newRelease: RELEASE,
        found: [],
        warnings: ['TaintPolicy p allows no release of taint dedicated=gpu:NoSchedule'],
      },
      {
        why: 'nothing, for a taint that is not there',
        policies: deny,
        newRelease: 'x:NoSchedule',
        found: [],
        warnings: ['taintkeeper.dev/release names no protected taint of this node'],
      },
      {
        why: 'nothing, where it cannot be read',
        policies: deny,
        newRelease: 'true',
        found: [],
        warnings: ['taintkeeper.dev/release: cannot read "true", expected key=value:Effect'],
      },
      {
        why: 'nothing, where no policy binds',
        policies: policyOf('Audit', [{ key: '*' }]),
        newRelease: 'true',
        found: [],
        warnings: [],
      },
    ])('$why', ({ policies, newRelease, found, warnings }) => {
      const decision = judgeUpdate(policies, 'validate', { before: [gpu], after: [gpu], newRelease });
      expect(decision).toMatchObject({ verdict: 'allow', warnings });
      expect(outcomes(decision)).toEqual(found);
      expect(judgeUpdate(policies, 'mutate', { before: [gpu], after: [gpu], newRelease }).verdict).toBe('allow');
    });

    it('nothing new when it was there before', () => {
      const update = { before: [gpu], after: [gpu], oldRelease: RELEASE, newRelease: RELEASE };
      expect(judgeUpdate(deny, 'validate', update).violations).toEqual([]);
    });
  });

  it('gives both advices where one policy is open and one closed', () => {
    const policies = policySet({
      taint: {
        open: { mode: 'Deny', taints: [{ key: 'dedicated' }] },
        closed: { mode: 'Deny', taints: [{ key: 'other' }], release: 'Never' },
      },
    });
    const decision = judgeUpdate(policies, 'validate', { before: [gpu, other], after: [] });
    expect(decision).toMatchObject({
      message: expect.stringMatching(
        /TaintPolicy "closed" allows no release.*kubectl annotate .*=dedicated=gpu:NoSchedule$/,
      ),
    });
  });

  it('that cannot be read is named in the refusal', () => {
    const decision = judgeUpdate(deny, 'validate', {
      before: [gpu],
      after: [],
      oldRelease: 'dedicated',
      newRelease: 'dedicated',
    });
    expect(decision).toMatchObject({
      message: expect.stringContaining('taintkeeper.dev/release cannot be read at "dedicated"'),
    });
  });
});
