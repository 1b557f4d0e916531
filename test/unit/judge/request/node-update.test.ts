import { describe, expect, it } from 'vitest';
import type { StringMap } from '../../../../src/kubernetes/label-selector.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import type { Requester } from '../../../../src/policy/compiled-taint-policy.ts';
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
  notReady,
  other,
  outcomes,
  policyOf,
  type Update,
} from './node-updates.ts';

describe('Deny', () => {
  const deny = policyOf('Deny', [{ key: 'dedicated' }]);

  it.each<{ why: string; update: Update; refused: boolean }>([
    { why: 'a removed taint', update: { before: [gpu], after: [] }, refused: true },
    { why: 'a changed value', update: { before: [gpu], after: [cpu] }, refused: true },
    { why: 'a changed effect', update: { before: [gpu], after: [{ ...gpu, effect: 'NoExecute' }] }, refused: true },
    { why: 'a taint that stays', update: { before: [gpu, other], after: [gpu] }, refused: false },
    { why: 'a taint that no policy protects', update: { before: [other], after: [] }, refused: false },
    { why: 'a taint that comes', update: { before: [], after: [gpu] }, refused: false },
    { why: 'another order', update: { before: [gpu, other], after: [other, gpu] }, refused: false },
    { why: "Kubernetes' own taint next to it", update: { before: [gpu, notReady], after: [gpu] }, refused: false },
  ])('$why: refused is $refused', ({ update, refused }) => {
    expect(judgeUpdate(deny, 'validate', update).action).toBe(refused ? 'deny' : 'allow');
    expect(judgeUpdate(deny, 'mutate', update).action).toBe('allow');
  });

  it('gives a command without shell code, also for the file of a Node that another user wrote', () => {
    const decision = judgeUpdate(deny, 'validate', { before: [{ ...gpu, value: "';reboot;'" }], after: [] });
    expect(decision).toMatchObject({
      message: expect.stringContaining(
        " remove it: kubectl annotate --overwrite node n1 'taintkeeper.dev/allow-removal=dedicated='\\'';reboot;'\\'':NoSchedule'",
      ),
    });
  });

  it('lists each taint in the audit log', () => {
    const before = [gpu, { ...gpu, effect: 'NoExecute' }];
    expect(judgeUpdate(deny, 'validate', { before, after: [] }).auditAnnotations).toEqual({
      denied: 'p: dedicated=gpu:NoSchedule; p: dedicated=gpu:NoExecute',
    });
  });

  it('escapes characters of a taint that are not printable, also in the audit log', () => {
    const decision = judgeUpdate(deny, 'validate', { before: [{ ...gpu, value: 'a\u0007' }], after: [] });
    const subject = 'dedicated=a\\u{7}:NoSchedule';
    expect(decision).toMatchObject({
      message: expect.stringContaining(`removing taint ${subject} is not allowed`),
      violations: [{ policy: 'p', change: 'Removal', result: 'Denied', audit: false, subject }],
      auditAnnotations: { denied: `p: ${subject}` },
    });
  });

  it('names the node, the taint, the policy, its field, and the command that allows the removal', () => {
    const decision = judgeUpdate(deny, 'validate', { before: [gpu], after: [] });
    expect(decision).toMatchObject({
      action: 'deny',
      warnings: [],
      message:
        'node n1: removing taint dedicated=gpu:NoSchedule is not allowed (TaintPolicy "p", spec.taints[0], mode Deny). ' +
        'To allow it, and then remove it: kubectl annotate --overwrite node n1 taintkeeper.dev/allow-removal=dedicated=gpu:NoSchedule',
      auditAnnotations: { denied: 'p: dedicated=gpu:NoSchedule' },
      violations: [{ policyKind: 'TaintPolicy', policy: 'p', field: 'spec.taints[0]', mode: 'Deny', result: 'Denied' }],
    });
  });
});

describe('Restore', () => {
  const restore = policyOf('Restore', [{ key: 'dedicated' }]);

  it.each<{ why: string; update: Update; desired: Taint[] }>([
    {
      why: 'appends what was removed',
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
    expect(decision).toMatchObject({ action: 'patch', desired: { taints: desired } });
    expect(outcomes(decision)).toEqual(['p restored dedicated=gpu:NoSchedule']);
    expect(decision.warnings).toEqual(['TaintPolicy p restored taint dedicated=gpu:NoSchedule']);
    expect(decision).not.toHaveProperty('isRoutine');
  });

  it('never adds a required taint that the node lacked before', () => {
    const present = policyOf('Restore', [{ key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' }]);
    expect(judgeUpdate(present, 'mutate', { before: [], after: [other] }).action).toBe('allow');
  });

  it('validation denies a removal that was not restored, or was repeated after mutation', () => {
    expect(judgeUpdate(restore, 'validate', { before: [gpu], after: [] })).toMatchObject({
      action: 'deny',
      message:
        'node n1: removing taint dedicated=gpu:NoSchedule is not allowed (TaintPolicy "p", spec.taints[0], mode Restore). ' +
        "It was not restored: taintkeeper's mutating webhook was not called, or a later webhook removed the taint again (to check: taintkeeper doctor). " +
        'To allow it, and then remove it: kubectl annotate --overwrite node n1 taintkeeper.dev/allow-removal=dedicated=gpu:NoSchedule',
    });
  });

  it("never patches a node's own update, and refuses it instead", () => {
    const update = { before: [gpu], after: [], requester: KUBELET };
    expect(judgeUpdate(restore, 'mutate', update)).toMatchObject({ action: 'allow', violations: [] });
    expect(judgeUpdate(restore, 'validate', update)).toMatchObject({
      action: 'deny',
      message: expect.stringContaining(
        'An update by the node itself is refused, because taintkeeper does not patch it. The admission plugin NodeRestriction is probably off',
      ),
    });
  });

  it.each<{ why: string; requester: Requester }>([
    { why: 'the name of a node, but without the group', requester: { username: 'system:node:n1', groups: [] } },
    { why: 'the group of nodes, but with another name', requester: { username: 'n1', groups: ['system:nodes'] } },
  ])('patches the update of a user with $why', ({ requester }) => {
    expect(judgeUpdate(restore, 'mutate', { before: [gpu], after: [], requester }).action).toBe('patch');
  });

  it('validation denies a removal that a later webhook repeated after mutation', () => {
    expect(judgeUpdate(restore, 'validate', { before: [gpu], after: [] })).toMatchObject({
      action: 'deny',
      message: expect.stringContaining("It was not restored: taintkeeper's mutating webhook was not called"),
    });
  });
});

describe('Audit', () => {
  it('allows the removal, and reports it only in validation', () => {
    const audit = policyOf('Audit', [{ key: 'dedicated' }]);
    expect(judgeUpdate(audit, 'mutate', { before: [gpu], after: [] })).toMatchObject({
      action: 'allow',
      warnings: [],
    });
    expect(judgeUpdate(audit, 'validate', { before: [gpu], after: [] })).toMatchObject({
      action: 'allow',
      warnings: ['TaintPolicy p, Audit: the request removed taint dedicated=gpu:NoSchedule'],
      auditAnnotations: { audited: 'p: dedicated=gpu:NoSchedule' },
    });
  });

  it.each<{ mode: TaintMode; outcome: string; key: string; warning: string }>([
    {
      mode: 'Deny',
      outcome: 'would deny',
      key: 'audit-denied',
      warning: 'TaintPolicy p would deny removing taint dedicated=gpu:NoSchedule (--audit)',
    },
    {
      mode: 'Restore',
      outcome: 'would restore',
      key: 'audit-restored',
      warning: 'TaintPolicy p would restore taint dedicated=gpu:NoSchedule (--audit)',
    },
    {
      mode: 'Audit',
      outcome: 'audited',
      key: 'audited',
      warning: 'TaintPolicy p, Audit: the request removed taint dedicated=gpu:NoSchedule',
    },
  ])('takes the place of $mode with --audit, and says what that would do', ({ mode, outcome, key, warning }) => {
    const audit = policySet({ taint: { p: { mode, taints: [{ key: 'dedicated' }] } } }, { audit: true });
    expect(judgeUpdate(audit, 'mutate', { before: [gpu], after: [] }).action).toBe('allow');
    const decision = judgeUpdate(audit, 'validate', { before: [gpu], after: [] });
    expect(outcomes(decision)).toEqual([`p ${outcome} dedicated=gpu:NoSchedule`]);
    expect(decision.warnings).toEqual([warning]);
    expect(decision.auditAnnotations).toEqual({ [key]: 'p: dedicated=gpu:NoSchedule' });
  });

  it.each<{ why: string; spec: object; outcome: string; warning: string }>([
    {
      why: 'a removal that the annotation allowed before',
      spec: { mode: 'Deny' },
      outcome: 'allowed by annotation',
      warning: 'TaintPolicy p would allow the removal of taint dedicated=gpu:NoSchedule by annotation (--audit)',
    },
    {
      why: 'one that the policy never releases',
      spec: { mode: 'Deny', removalByAnnotation: 'Forbidden' },
      outcome: 'would deny',
      warning: 'TaintPolicy p would deny removing taint dedicated=gpu:NoSchedule (--audit)',
    },
    {
      why: 'one by a policy that watches anyway',
      spec: { mode: 'Audit' },
      outcome: 'audited',
      warning: 'TaintPolicy p, Audit: the request removed taint dedicated=gpu:NoSchedule',
    },
  ])('with --audit says what enforcing would do of $why', ({ spec, outcome, warning }) => {
    const taints: TaintRule[] = [{ key: 'dedicated' }];
    const audit = policySet({ taint: { p: { taints, ...spec } as TaintPolicySpec } }, { audit: true });
    const allowRemoval = 'dedicated=gpu:NoSchedule';
    const atOnce = { before: [gpu], after: [], newAllowRemoval: allowRemoval };
    const update = { ...atOnce, oldAllowRemoval: allowRemoval };
    expect(judgeUpdate(audit, 'mutate', update).action).toBe('allow');
    const decision = judgeUpdate(audit, 'validate', update);
    expect(outcomes(decision)).toEqual([`p ${outcome} dedicated=gpu:NoSchedule`]);
    expect(decision.warnings).toEqual([warning]);
    // Allowed and removed by one write, it is refused as ever.
    expect(outcomes(judgeUpdate(audit, 'validate', atOnce))).not.toContain(
      `p allowed by annotation dedicated=gpu:NoSchedule`,
    );
  });
});

describe('the taints that a policy protects', () => {
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
    {
      why: 'the empty value is a value',
      rule: { key: 'dedicated', value: '' },
      taint: gpu,
      yes: false,
    },
    {
      why: 'another effect',
      rule: { key: 'dedicated', effect: 'NoExecute' },
      taint: gpu,
      yes: false,
    },
    {
      why: 'a pattern',
      rule: { key: 'example.com/*' },
      taint: { key: 'example.com/a', effect: 'NoExecute' },
      yes: true,
    },
    {
      why: 'a pattern, only in its domain',
      rule: { key: 'example.com/*' },
      taint: { key: 'a.example.com/a', effect: 'NoExecute' },
      yes: false,
    },
    {
      why: 'never a start-up taint, by pattern',
      rule: { key: 'node.cilium.io/*' },
      taint: { key: 'node.cilium.io/agent-not-ready', effect: 'NoSchedule' },
      yes: false,
    },
    {
      why: 'an exception',
      rule: { key: 'example.com/*', except: ['example.com/a'] },
      taint: { key: 'example.com/a', effect: 'NoExecute' },
      yes: false,
    },
    {
      why: 'what is no exception',
      rule: { key: 'example.com/*', except: ['example.com/a'] },
      taint: { key: 'example.com/b', effect: 'NoExecute' },
      yes: true,
    },
    {
      why: 'a start-up taint, by its exact key',
      rule: { key: 'node.cilium.io/agent-not-ready' },
      taint: { key: 'node.cilium.io/agent-not-ready', effect: 'NoSchedule' },
      yes: true,
    },
    {
      why: 'a required taint is preserved, too',
      rule: { key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' },
      taint: gpu,
      yes: true,
    },
  ])('$why: $yes', ({ rule, taint, yes }) => {
    const update = { before: [taint], after: [] };
    const { action } = judgeUpdate(policyOf('Deny', [rule]), 'validate', update);
    expect(action).toBe(yes ? 'deny' : 'allow');
  });
});

describe('the nodes that a policy selects', () => {
  const pool = policyOf('Deny', [{ key: 'dedicated' }], {
    nodeSelector: { matchLabels: { pool: 'gpu' } },
  });
  it.each<{ why: string; oldLabels: StringMap; newLabels: StringMap; yes: boolean }>([
    { why: 'selected before and after', oldLabels: { pool: 'gpu' }, newLabels: { pool: 'gpu' }, yes: true },
    { why: 'a node cannot leave in the same update', oldLabels: { pool: 'gpu' }, newLabels: {}, yes: true },
    { why: 'a node that joins is held to it at once', oldLabels: {}, newLabels: { pool: 'gpu' }, yes: true },
    { why: 'never selected', oldLabels: { pool: 'cpu' }, newLabels: {}, yes: false },
  ])('$why: $yes', ({ oldLabels, newLabels, yes }) => {
    const decision = judgeUpdate(pool, 'validate', { before: [gpu], after: [], oldLabels, newLabels });
    expect(decision.action).toBe(yes ? 'deny' : 'allow');
  });
});

describe('the users that a policy exempts', () => {
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
    { why: 'a user who matches no exemption', requester: DEVELOPER, yes: false },
  ])('$why: $yes', ({ requester, yes }) => {
    const { action, outcomes: found } = admitted(exempting, { before: [gpu], after: [], requester });
    expect(action === 'deny').toBe(!yes);
    expect(found).toEqual([`p ${yes ? 'allowed by exemption' : 'denied'} dedicated=gpu:NoSchedule`]);
  });
});

describe('a refusal', () => {
  const rules: TaintRule[] = [{ key: 'dedicated' }];
  const [GPU, OTHER] = ['dedicated=gpu:NoSchedule', 'other:NoSchedule'];
  const REMOVED = `node n1: removing taint ${GPU} is not allowed`;
  const HINT =
    "It was not restored: taintkeeper's mutating webhook was not called, or a later webhook removed the taint again (to check: taintkeeper doctor).";
  const COMMAND =
    'To allow it, and then remove it: kubectl annotate --overwrite node n1 taintkeeper.dev/allow-removal=';
  const deny: TaintPolicySpec = { mode: 'Deny', taints: rules };
  const closed: TaintPolicySpec = { ...deny, removalByAnnotation: 'Forbidden' };

  it.each<{ why: string; policies: Record<string, TaintPolicySpec>; update?: Partial<Update>; message: string }>([
    {
      why: 'gives no command against removalByAnnotation: Forbidden',
      policies: { a: closed },
      message: `${REMOVED} (TaintPolicy "a", spec.taints[0], mode Deny). TaintPolicy "a" does not allow removal by annotation: change the policy first.`,
    },
    {
      why: 'names all policies of the taint',
      policies: { a: closed, b: closed, c: deny },
      message:
        `${REMOVED} (TaintPolicy "a", spec.taints[0], mode Deny; TaintPolicy "b", spec.taints[0], mode Deny; TaintPolicy "c", spec.taints[0], mode Deny). ` +
        'TaintPolicies "a", "b" do not allow removal by annotation: change the policies first.',
    },
    {
      why: 'gives a command for those taints that an entry lets go',
      policies: { a: closed, r: { mode: 'Restore', taints: [{ key: 'other' }] } },
      update: { before: [gpu, other] },
      message:
        `${REMOVED} (TaintPolicy "a", spec.taints[0], mode Deny). ` +
        `node n1: removing taint ${OTHER} is not allowed (TaintPolicy "r", spec.taints[0], mode Restore). ` +
        `${HINT} TaintPolicy "a" does not allow removal by annotation: change the policy first. ${COMMAND}${OTHER}`,
    },
    {
      why: 'gives no command if a policy of another mode forbids it as well',
      policies: { d: deny, r: { ...closed, mode: 'Restore' } },
      message: `${REMOVED} (TaintPolicy "d", spec.taints[0], mode Deny). TaintPolicy "r" does not allow removal by annotation: change the policy first.`,
    },
    {
      why: 'gives a command although a policy with removalByAnnotation: Forbidden reports as well',
      policies: { a: { ...closed, mode: 'Audit' }, d: deny },
      message: `${REMOVED} (TaintPolicy "d", spec.taints[0], mode Deny). ${COMMAND}${GPU}`,
    },
    {
      why: 'names all entries that cannot be read',
      policies: { a: deny },
      update: { oldAllowRemoval: 'dedicated=gpu,other' },
      message:
        `${REMOVED} (TaintPolicy "a", spec.taints[0], mode Deny). ` +
        `Annotation taintkeeper.dev/allow-removal: cannot read "dedicated=gpu", "other", expected key=value:Effect. ${COMMAND}${GPU}`,
    },
  ])('$why', ({ policies, update, message }) => {
    const decision = judgeUpdate(policySet({ taint: policies }), 'validate', { before: [gpu], after: [], ...update });
    expect(decision).toMatchObject({ action: 'deny', message });
  });

  it('has a command for at most eight taints', () => {
    const before = Array.from({ length: 9 }, (_, n) => ({ ...gpu, key: `example.com/${n}` }));
    const decision = judgeUpdate(policyOf('Deny', [{ key: 'example.com/*' }]), 'validate', { before, after: [] });
    const entries = before.slice(0, 8).map(({ key }) => `${key}=gpu:NoSchedule`);
    expect(decision).toMatchObject({
      message: expect.stringMatching(new RegExp(`allow-removal=${entries.join(',')}$`)),
    });
  });
});

it('an exemption is reported once for each policy: in mutation, or in validation in mode Audit', () => {
  const spec = (mode: TaintMode): TaintPolicySpec => ({
    mode,
    taints: [{ key: 'dedicated' }],
    exempt: { users: ['dev'] },
  });
  const policies = policySet({ taint: { a: spec('Audit'), d: spec('Deny') } });
  expect(admitted(policies, { before: [gpu], after: [] }).outcomes).toEqual([
    'd allowed by exemption dedicated=gpu:NoSchedule',
    'a allowed by exemption dedicated=gpu:NoSchedule',
  ]);
});

it('a change of labels after which a policy no longer selects the node is allowed without a warning', () => {
  const pool = policyOf('Deny', [{ key: 'dedicated' }], { nodeSelector: { matchLabels: { pool: 'gpu' } } });
  const leaving = { before: [gpu], after: [gpu], oldLabels: { pool: 'gpu' }, newLabels: {} };
  expect(admitted(pool, leaving)).toMatchObject({ action: 'allow', outcomes: [], warnings: [] });
});

describe('several policies on one taint', () => {
  const modes = ['Audit', 'Restore', 'Deny'] as const;
  it.each(modes.flatMap((a) => modes.map((b) => ({ a, b }))))('$a and $b: the stronger wins', ({ a, b }) => {
    const policies = policySet({
      taint: {
        a: { mode: a, taints: [{ key: 'dedicated' }] },
        b: { mode: b, taints: [{ key: 'dedicated', effect: 'NoSchedule' }] },
      },
    });
    const stronger = modes[Math.max(modes.indexOf(a), modes.indexOf(b))];
    const update = { before: [gpu], after: [] };
    const mutation = judgeUpdate(policies, 'mutate', update);
    const validation = judgeUpdate(policies, 'validate', update);
    expect(mutation.action).toBe(stronger === 'Restore' ? 'patch' : 'allow');
    expect(validation.action).toBe(stronger === 'Audit' ? 'allow' : 'deny');
    const found = stronger === 'Restore' ? mutation : validation;
    expect(found.violations.map(({ policy }) => policy)).toEqual([
      ...(a === stronger ? ['a'] : []),
      ...(b === stronger ? ['b'] : []),
    ]);
  });

  it('policies of the same mode are all named as having restored the taint', () => {
    const spec: TaintPolicySpec = { mode: 'Restore', taints: [{ key: 'dedicated' }] };
    const { warnings } = judgeUpdate(policySet({ taint: { a: spec, b: spec } }), 'mutate', {
      before: [gpu],
      after: [],
    });
    expect(warnings).toEqual(['TaintPolicy a, b restored taint dedicated=gpu:NoSchedule']);
  });

  it('an exemption from one policy does not count for the other', () => {
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
      action: 'patch',
      desired: { taints: [other] },
      violations: [],
      warnings: [],
    });
    expect(outcomes(judgeUpdate(policies, 'validate', { ...update, after: [other] }))).toEqual([
      'd denied dedicated=gpu:NoSchedule',
    ]);
  });
});
