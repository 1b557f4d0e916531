import { describe, expect, it } from 'vitest';
import { type DaemonSetView, MAX_TOLERATIONS } from '../../../../src/judge/daemon-set-view.ts';
import type { Phase } from '../../../../src/judge/decision.ts';
import { outcomeText } from '../../../../src/judge/outcomes.ts';
import { type DaemonSetRequest, judgeDaemonSet } from '../../../../src/judge/request/daemon-set.ts';
import type { Toleration } from '../../../../src/kubernetes/toleration.ts';
import type { PolicySet } from '../../../../src/policy/policy-set.ts';
import type { PolicyToleration, TolerationPolicySpec } from '../../../../src/policy/toleration-policy.ts';
import { policySet } from '../../policy/policies.ts';

const MASTER = { key: 'node-role.kubernetes.io/master', operator: 'Exists', effect: 'NoSchedule' } as const;
const CONTROL_PLANE = {
  key: 'node-role.kubernetes.io/control-plane',
  operator: 'Exists',
  effect: 'NoSchedule',
} as const;

const PREFER = { operator: 'Exists', effect: 'PreferNoSchedule' } as const;

const cni: TolerationPolicySpec = { mode: 'Mutate', daemonSets: { namespaces: ['kube-flannel'] } };
const policy = (more: Partial<TolerationPolicySpec> = {}): PolicySet =>
  policySet({ toleration: { cni: { ...cni, ...more } } });

const flannel: DaemonSetView = {
  namespace: 'kube-flannel',
  name: 'kube-flannel-ds',
  labels: { app: 'flannel' },
  annotations: {},
  tolerations: [],
  hostNetwork: false,
  deleting: false,
};

function judge(
  policies: PolicySet,
  daemonSet: Partial<DaemonSetView>,
  phase: Phase = 'mutate',
  running?: DaemonSetRequest['running'],
) {
  return judgeDaemonSet[phase]({ daemonSet: { ...flannel, ...daemonSet }, ...(running ? { running } : {}) }, policies);
}

describe('Mutate', () => {
  const sixty: Toleration[] = Array.from({ length: 60 }, (_, index) => ({
    key: `example.com/${index}`,
    operator: 'Exists',
  }));

  it.each<{ why: string; tolerations: Toleration[]; added: Toleration[] }>([
    { why: 'none: both are added', tolerations: [], added: [MASTER, CONTROL_PLANE] },
    { why: 'only master', tolerations: [MASTER], added: [CONTROL_PLANE] },
    { why: 'only control-plane', tolerations: [CONTROL_PLANE], added: [MASTER] },
    {
      why: 'control-plane by Equal without a value, as in Flannel after PR #1907',
      tolerations: [{ key: CONTROL_PLANE.key, effect: 'NoSchedule' }],
      added: [MASTER],
    },
    {
      why: 'control-plane for every effect',
      tolerations: [{ key: CONTROL_PLANE.key, operator: 'Exists' }],
      added: [MASTER],
    },
    {
      why: 'control-plane by a value that the taint does not have',
      tolerations: [{ key: CONTROL_PLANE.key, operator: 'Equal', value: 'true' }],
      added: [MASTER, CONTROL_PLANE],
    },
    {
      why: 'control-plane for another effect',
      tolerations: [{ ...CONTROL_PLANE, effect: 'NoExecute' }],
      added: [MASTER, CONTROL_PLANE],
    },
    { why: 'every taint', tolerations: [{ operator: 'Exists' }], added: [] },
    { why: 'every taint, by an empty key', tolerations: [{ key: '', operator: 'Exists' }], added: [] },
    {
      why: 'every NoSchedule taint, as in Flannel',
      tolerations: [{ operator: 'Exists', effect: 'NoSchedule' }],
      added: [],
    },
    {
      why: 'every NoExecute taint',
      tolerations: [{ operator: 'Exists', effect: 'NoExecute' }],
      added: [MASTER, CONTROL_PLANE],
    },
    { why: '60 others', tolerations: sixty, added: [MASTER, CONTROL_PLANE] },
  ])('tolerates $why', ({ tolerations, added }) => {
    const decision = judge(policy(), { tolerations });
    if (added.length === 0) {
      expect(decision).toMatchObject({ action: 'allow', violations: [], warnings: [] });
    } else {
      expect(decision).toMatchObject({ action: 'patch', desired: { tolerations: [...tolerations, ...added] } });
      expect(decision.violations.map(outcomeText)).toEqual(added.map(() => 'added'));
    }
  });

  it.each<{ who: string; tolerations: Toleration[] }>([
    {
      who: 'calico-node and canal',
      tolerations: [
        { effect: 'NoSchedule', operator: 'Exists' },
        { key: 'CriticalAddonsOnly', operator: 'Exists' },
        { effect: 'NoExecute', operator: 'Exists' },
      ],
    },
    {
      who: 'kube-multus-ds',
      tolerations: [
        { operator: 'Exists', effect: 'NoSchedule' },
        { operator: 'Exists', effect: 'NoExecute' },
      ],
    },
  ])('does not roll $who for the sake of PreferNoSchedule, which never keeps a daemon off', ({ tolerations }) => {
    const wide = policy({
      tolerations: [{ operator: 'Exists' }, { key: 'dedicated', operator: 'Exists' }, { ...PREFER, key: 'spot' }],
    });
    expect(judge(wide, { tolerations })).toMatchObject({ action: 'allow', violations: [] });
    expect(judge(wide, { tolerations }, 'validate').violations).toEqual([]);
    const [first, ...rest] = tolerations;
    expect(judge(wide, { tolerations: rest })).toMatchObject({
      action: 'patch',
      desired: { tolerations: [...rest, { operator: 'Exists' }] },
    });
    expect(first?.effect).toBe('NoSchedule');
  });

  it('asks for no toleration that the DaemonSet controller gives to the pods', () => {
    const required: TolerationPolicySpec['tolerations'] = [
      { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
      { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
      { key: 'node.kubernetes.io/network-unavailable', operator: 'Exists', effect: 'NoSchedule' },
    ];
    const policies = policy({ tolerations: required });
    expect(judge(policies, { hostNetwork: true }).action).toBe('allow');
    expect(judge(policies, {})).toMatchObject({ desired: { tolerations: required.slice(2) } });
  });

  it('a required Exists is not satisfied by the taint without a value alone, as it is for role taints', () => {
    const dedicated = { key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' } as const;
    const without = { key: 'dedicated', effect: 'NoSchedule' } as const;
    const policies = policy({ tolerations: [dedicated] });
    expect(judge(policies, { tolerations: [without] })).toMatchObject({
      desired: { tolerations: [without, dedicated] },
    });
    const role = { ...without, key: MASTER.key };
    expect(judge(policy({ tolerations: [MASTER] }), { tolerations: [role] }).action).toBe('allow');
  });

  const narrow = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' } as const;
  const wide = { key: 'dedicated', operator: 'Exists' } as const;
  it.each<{ why: string; narrow: PolicyToleration; wide: PolicyToleration }>([
    { why: 'every value and effect', narrow, wide },
    { why: 'every value', narrow, wide: { ...wide, effect: 'NoSchedule' } },
    { why: 'every effect', narrow, wide: { key: 'dedicated', value: 'gpu' } },
    { why: 'every effect of any value', narrow: { ...wide, effect: 'NoExecute' }, wide },
    { why: 'every key', narrow: wide, wide: { operator: 'Exists' } },
    { why: 'every key with an effect', narrow, wide: { operator: 'Exists', effect: 'NoSchedule' } },
    { why: 'a longer time', narrow: { ...wide, effect: 'NoExecute', tolerationSeconds: 30 }, wide },
    {
      why: 'the same role taint, spelled with Exists',
      narrow: { key: MASTER.key, effect: 'NoSchedule' },
      wide: MASTER,
    },
  ])('adds only the widest of two, whatever their order: $why', ({ narrow, wide }) => {
    for (const toleration of [
      { a: { ...cni, tolerations: [narrow, wide] } },
      { a: { ...cni, tolerations: [wide, narrow] } },
      { a: { ...cni, tolerations: [narrow] }, b: { ...cni, tolerations: [wide] } },
      { a: { ...cni, tolerations: [wide] }, b: { ...cni, tolerations: [narrow] } },
    ]) {
      expect(judge(policySet({ toleration }), {})).toMatchObject({ desired: { tolerations: [wide] } });
    }
  });

  it('adds only the toleration of every value if the DaemonSet tolerates the other effect of the one value', () => {
    const everyValue = { ...wide, effect: 'NoSchedule' } as const;
    const everyEffect = { key: 'dedicated', value: 'gpu' } as const;
    const tolerations = [{ ...everyEffect, effect: 'NoExecute' }];
    for (const required of [
      [everyValue, everyEffect],
      [everyEffect, everyValue],
    ]) {
      expect(judge(policy({ tolerations: required }), { tolerations })).toMatchObject({
        desired: { tolerations: [...tolerations, everyValue] },
      });
    }
  });

  it.each<{ why: string; tolerations: PolicyToleration[] }>([
    { why: 'two values', tolerations: [narrow, { ...narrow, value: 'db' }] },
    { why: 'two effects', tolerations: [narrow, { ...narrow, effect: 'NoExecute' }] },
    {
      why: 'every key for one effect',
      tolerations: [
        { operator: 'Exists', effect: 'NoSchedule' },
        { ...narrow, effect: 'NoExecute' },
      ],
    },
  ])('adds both if none makes the other one needless: $why', ({ tolerations }) => {
    expect(judge(policy({ tolerations }), {})).toMatchObject({ desired: { tolerations } });
  });

  it('adds nothing twice when two policies require the same', () => {
    const policies = policySet({ toleration: { a: cni, b: cni } });
    expect(judge(policies, {})).toMatchObject({ action: 'patch', desired: { tolerations: [MASTER, CONTROL_PLANE] } });
  });

  it('takes an operator that it does not know as not tolerating, and says so', () => {
    const tolerations: Toleration[] = [
      MASTER,
      { key: CONTROL_PLANE.key, operator: 'Equal', value: 'true' },
      { key: CONTROL_PLANE.key, operator: 'Gt', value: '5' },
      { key: 'example.com/other', operator: 'Gt', value: '5' },
    ];
    const decision = judge(policy(), { tolerations });
    expect(decision.warnings).toEqual([
      'TolerationPolicy cni added toleration node-role.kubernetes.io/control-plane:NoSchedule',
      'toleration node-role.kubernetes.io/control-plane=5 (Gt): operator not supported, treated as not tolerating',
    ]);
  });

  it('leaves a template alone that the request does not change: that would restart pods; validation reports it', () => {
    const unchanged = { tolerations: [], sameTemplate: true };
    expect(judge(policy(), {}, 'mutate', unchanged)).toMatchObject({ action: 'allow', violations: [] });
    const { action, violations, warnings } = judge(policy(), {}, 'validate', unchanged);
    expect(action).toBe('allow');
    expect(violations.map(outcomeText)).toEqual(['missing', 'missing']);
    expect(warnings[0]).toBe('TolerationPolicy cni: toleration node-role.kubernetes.io/master:NoSchedule is missing');
  });
});

describe('a DaemonSet that runs', () => {
  const own: Toleration = { key: 'example.com/own', operator: 'Exists' };
  const extra: Toleration = { key: 'example.com/extra', operator: 'Exists' };

  it.each<{
    why: string;
    running: Toleration[];
    sent: Toleration[];
    sameTemplate: boolean;
    required?: TolerationPolicySpec['tolerations'];
    added: Toleration[];
  }>([
    {
      why: 'gets back what a reapplied manifest removes',
      running: [own, MASTER, CONTROL_PLANE],
      sent: [own],
      sameTemplate: true,
      added: [MASTER, CONTROL_PLANE],
    },
    {
      why: 'gets it back in the order in which it runs',
      running: [own, CONTROL_PLANE, MASTER],
      sent: [own],
      sameTemplate: true,
      added: [CONTROL_PLANE, MASTER],
    },
    {
      why: 'gets nothing more then: that would restart its pods',
      running: [own, CONTROL_PLANE],
      sent: [own],
      sameTemplate: true,
      added: [CONTROL_PLANE],
    },
    {
      why: 'gets all when its template changes otherwise',
      running: [own, CONTROL_PLANE],
      sent: [own],
      sameTemplate: false,
      added: [MASTER, CONTROL_PLANE],
    },
    {
      why: 'gets all when its tolerations change otherwise',
      running: [own, CONTROL_PLANE],
      sent: [own, extra],
      sameTemplate: true,
      added: [MASTER, CONTROL_PLANE],
    },
    {
      why: 'gets all when its tolerations become more',
      running: [own],
      sent: [own, extra],
      sameTemplate: true,
      added: [MASTER, CONTROL_PLANE],
    },
    {
      why: 'gets all when the request also removes a toleration of its own',
      running: [own, extra, CONTROL_PLANE],
      sent: [own],
      sameTemplate: true,
      added: [MASTER, CONTROL_PLANE],
    },
    {
      why: 'gets back a removed toleration as it was spelled: otherwise its pods would restart',
      running: [own, { key: 'dedicated', operator: 'Equal', effect: 'NoSchedule' }],
      sent: [own],
      sameTemplate: true,
      required: [{ key: 'dedicated', effect: 'NoSchedule' }],
      added: [{ key: 'dedicated', operator: 'Equal', effect: 'NoSchedule' }],
    },
    {
      why: 'gets back what is needless, too, where something is needed: else its pods would start anew',
      running: [own, { ...MASTER, effect: '' }, MASTER, CONTROL_PLANE],
      sent: [own],
      sameTemplate: true,
      required: [{ key: MASTER.key, operator: 'Exists' }, MASTER, CONTROL_PLANE],
      added: [{ ...MASTER, effect: '' }, MASTER, CONTROL_PLANE],
    },
    {
      why: 'does not get back a needless toleration: every user may remove it',
      running: [{ operator: 'Exists' }, MASTER],
      sent: [{ operator: 'Exists' }],
      sameTemplate: true,
      added: [],
    },
    { why: 'gets nothing when only a label changes', running: [own], sent: [own], sameTemplate: true, added: [] },
    {
      why: 'gets nothing when only the spelling changes',
      running: [{ ...own, effect: '' }],
      sent: [own],
      sameTemplate: true,
      added: [],
    },
  ])('$why', ({ running, sent, sameTemplate, required, added }) => {
    const decision = judge(policy(required ? { tolerations: required } : {}), { tolerations: sent }, 'mutate', {
      tolerations: running,
      sameTemplate,
    });
    expect(decision.action === 'patch' ? decision.desired.tolerations : sent).toEqual([...sent, ...added]);
  });
});

it('a new policy that requires more than an older one does not roll what runs by the older one', () => {
  const policies = policySet({
    toleration: {
      a: { ...cni, tolerations: [{ key: MASTER.key, operator: 'Exists' }] },
      b: { ...cni, tolerations: [MASTER] },
    },
  });
  const running = { tolerations: [CONTROL_PLANE, MASTER], sameTemplate: true };
  expect(judge(policies, { tolerations: [CONTROL_PLANE] }, 'mutate', running)).toMatchObject({
    action: 'patch',
    desired: { tolerations: [CONTROL_PLANE, MASTER] },
  });
});

describe('tolerationSeconds', () => {
  const forever = { key: 'maintenance', operator: 'Exists', effect: 'NoExecute' } as const;
  const briefly = { ...forever, tolerationSeconds: 0 };
  const policies = policy({ tolerations: [forever] });

  it('a DaemonSet whose pods are evicted at once is reported, and not patched: the first toleration that matches wins', () => {
    expect(judge(policies, { tolerations: [briefly] })).toMatchObject({ action: 'allow', violations: [] });
    expect(judge(policies, { tolerations: [briefly] }, 'validate')).toMatchObject({
      violations: [{ result: 'Reported', subject: 'maintenance:NoExecute without tolerationSeconds' }],
      warnings: [
        'TolerationPolicy cni: toleration maintenance:NoExecute without tolerationSeconds is missing',
        'toleration maintenance:NoExecute for 0 s comes first: change its tolerationSeconds in the DaemonSet',
      ],
    });
  });

  it('reports a policy in mode Audit that requires more seconds than a policy in mode Mutate', () => {
    const toleration: Record<string, TolerationPolicySpec> = {
      a: { ...cni, tolerations: [{ ...forever, tolerationSeconds: 300 }] },
      b: { ...cni, mode: 'Audit', tolerations: [forever] },
    };
    const both = policySet({ toleration });
    const tolerations: Toleration[] = [{ ...forever, tolerationSeconds: 300 }];
    expect(judge(both, {})).toMatchObject({ desired: { tolerations } });
    expect(judge(both, { tolerations }, 'validate').violations).toEqual([
      {
        policyKind: 'TolerationPolicy',
        policy: 'b',
        field: 'spec.tolerations[0]',
        mode: 'Audit',
        ...{ change: 'Missing', result: 'Audited', audit: false },
        subject: 'maintenance:NoExecute without tolerationSeconds',
      },
    ]);
  });

  it.each<{ why: string; required: PolicyToleration; tolerations: Toleration[]; reported: boolean }>([
    { why: 'the one without seconds comes first', required: forever, tolerations: [forever, briefly], reported: false },
    { why: 'the one without seconds comes last', required: forever, tolerations: [briefly, forever], reported: true },
    {
      why: 'it is for another key',
      required: forever,
      tolerations: [{ ...briefly, key: 'a' }, forever, { ...briefly, key: 'b' }],
      reported: false,
    },
    {
      why: 'every effect is required, and it is for NoExecute',
      required: { key: forever.key, operator: 'Exists' },
      tolerations: [briefly, { key: forever.key, operator: 'Exists' }],
      reported: true,
    },
    {
      why: 'it comes after the toleration of one value',
      required: forever,
      tolerations: [{ key: forever.key, value: 'soon', effect: 'NoExecute' }, briefly],
      reported: true,
    },
    {
      why: 'it is for every key',
      required: forever,
      tolerations: [{ operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 30 }],
      reported: true,
    },
    {
      why: 'it is for one value',
      required: forever,
      tolerations: [{ ...briefly, operator: 'Equal' }, forever],
      reported: true,
    },
    {
      why: 'longer than is required',
      required: { ...forever, tolerationSeconds: 30 },
      tolerations: [forever],
      reported: false,
    },
    {
      why: 'shorter than is required',
      required: { ...forever, tolerationSeconds: 30 },
      tolerations: [{ ...forever, tolerationSeconds: 29 }],
      reported: true,
    },
    {
      why: 'negative is 0',
      required: briefly,
      tolerations: [{ ...forever, tolerationSeconds: -1 }],
      reported: false,
    },
    {
      why: 'the DaemonSet controller puts one without seconds in its place',
      required: { operator: 'Exists' },
      tolerations: [
        { ...forever, key: 'node.kubernetes.io/not-ready', tolerationSeconds: 300 },
        { operator: 'Exists' },
      ],
      reported: false,
    },
  ])('$why: reported $reported', ({ required, tolerations, reported }) => {
    const { violations } = judge(policy({ tolerations: [required] }), { tolerations }, 'validate');
    expect(violations.map(outcomeText)).toEqual(reported ? ['missing'] : []);
  });

  it('adds the longest first, so that none is cut short', () => {
    const some = { operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 } as const;
    expect(judge(policy({ tolerations: [some, forever] }), {})).toMatchObject({
      desired: { tolerations: [forever, some] },
    });
  });
});

describe('which DaemonSets a policy is for', () => {
  const narrow = policy({
    daemonSets: { namespaces: ['kube-*'], names: ['*flannel*'], selector: { matchLabels: { app: 'flannel' } } },
  });

  it.each<{ why: string; daemonSet: Partial<DaemonSetView>; yes: boolean }>([
    { why: 'namespace, name and labels match', daemonSet: {}, yes: true },
    { why: 'another namespace', daemonSet: { namespace: 'default' }, yes: false },
    { why: 'another name', daemonSet: { name: 'canal' }, yes: false },
    { why: 'other labels', daemonSet: { labels: { app: 'canal' } }, yes: false },
    { why: 'opted out', daemonSet: { annotations: { 'taintkeeper.dev/ignore': 'true' } }, yes: false },
    { why: 'opted out without a value', daemonSet: { annotations: { 'taintkeeper.dev/ignore': '' } }, yes: false },
    { why: 'opted in again', daemonSet: { annotations: { 'taintkeeper.dev/ignore': 'false' } }, yes: true },
    { why: 'on its way out', daemonSet: { deleting: true }, yes: false },
  ])('$why: $yes', ({ daemonSet, yes }) => {
    expect(judge(narrow, daemonSet).action).toBe(yes ? 'patch' : 'allow');
    expect(judge(narrow, daemonSet, 'validate').violations).toHaveLength(yes ? 2 : 0);
  });
});

describe('Audit', () => {
  it('reports, in validation only', () => {
    expect(judge(policy({ mode: 'Audit' }), { tolerations: [MASTER] })).toMatchObject({
      action: 'allow',
      violations: [],
    });
    expect(judge(policy({ mode: 'Audit' }), { tolerations: [MASTER] }, 'validate')).toMatchObject({
      action: 'allow',
      warnings: ['TolerationPolicy cni, Audit: toleration node-role.kubernetes.io/control-plane:NoSchedule is missing'],
      auditAnnotations: { audited: 'cni: node-role.kubernetes.io/control-plane:NoSchedule' },
    });
  });

  it('says with --audit what a policy in mode Mutate would add', () => {
    const trial = policySet({ toleration: { cni } }, { audit: true });
    expect(judge(trial, { tolerations: [MASTER] }, 'validate')).toMatchObject({
      action: 'allow',
      violations: [{ mode: 'Audit', result: 'Added', audit: true }],
      warnings: [
        'TolerationPolicy cni would add toleration node-role.kubernetes.io/control-plane:NoSchedule (--audit)',
      ],
    });
  });

  it('hides nothing that a policy in mode Mutate asks for, however much wider it is', () => {
    const policies = policySet({
      toleration: { a: { ...cni, mode: 'Audit', tolerations: [{ operator: 'Exists' }] }, b: cni },
    });
    expect(judge(policies, {}, 'validate').violations.map((one) => `${one.policy} ${outcomeText(one)}`)).toEqual([
      'b missing',
      'b missing',
      'a audited',
    ]);
  });

  it('reports only the widest of two required tolerations', () => {
    const narrow = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' } as const;
    const wide = { key: 'dedicated', operator: 'Exists' } as const;
    for (const tolerations of [
      [narrow, wide],
      [wide, narrow],
    ]) {
      const { violations } = judge(policy({ mode: 'Audit', tolerations }), {}, 'validate');
      expect(violations.map(({ subject }) => subject)).toEqual(['dedicated']);
    }
  });

  it('has nothing to report of what another policy adds', () => {
    const policies = policySet({ toleration: { a: { ...cni, mode: 'Audit' }, b: cni } });
    const decision = judge(policies, {});
    expect(decision.violations.map(({ policy }) => policy)).toEqual(['b', 'b']);
    expect(judge(policies, { tolerations: [MASTER, CONTROL_PLANE] }, 'validate').violations).toEqual([]);
  });
});

it('each DaemonSet gets what its own policies ask for, whatever was judged before it', () => {
  const count = 40;
  const key = (index: number) => `example.com/${index}`;
  const toleration = Object.fromEntries(
    Array.from({ length: count }, (_, index): [string, TolerationPolicySpec] => [
      `policy-${index}`,
      {
        mode: index % 2 ? 'Mutate' : 'Audit',
        daemonSets: { namespaces: ['*'], names: [`a-*-${index}`, 'every'] },
        tolerations: [{ key: key(index), operator: 'Exists' }],
      },
    ]),
  );
  const policies = policySet({ toleration });
  const subjects = (name: string, phase: Phase) =>
    judge(policies, { name }, phase).violations.map(({ subject }) => subject);
  const all = Array.from({ length: count }, (_, index) => key(index));
  const mutated = all.filter((_, index) => index % 2);

  for (let round = 0; round < 2; round++) {
    for (const [index, one] of all.entries()) {
      expect(subjects(`a-b-${index}`, 'validate')).toEqual([one]);
      expect(subjects(`a-b-${index}`, 'mutate')).toEqual(index % 2 ? [one] : []);
    }
    expect(subjects('every', 'mutate').toSorted()).toEqual(mutated.toSorted());
    expect(subjects('every', 'validate').toSorted()).toEqual(all.toSorted());
  }
});

describe('a DaemonSet with very many tolerations', () => {
  const many = (count: number): Toleration[] =>
    Array.from({ length: count }, (_, index) => ({ key: `example.com/${index}`, operator: 'Exists' }));
  const warnings = [`more than ${MAX_TOLERATIONS} tolerations: no TolerationPolicy was applied`];

  it.each<{ why: string; now: number; before?: number; policies?: PolicySet; expected: object }>([
    { why: 'as many as are compared', now: MAX_TOLERATIONS, expected: { action: 'patch' } },
    { why: 'more', now: MAX_TOLERATIONS + 1, expected: { action: 'allow', violations: [], warnings } },
    {
      why: 'more, and one of two policies selects it',
      now: MAX_TOLERATIONS + 1,
      policies: policySet({ toleration: { cni, other: { ...cni, daemonSets: { namespaces: ['elsewhere'] } } } }),
      expected: { action: 'allow', violations: [], warnings },
    },
    { why: 'more before the update', now: 0, before: MAX_TOLERATIONS + 1, expected: { action: 'allow', warnings } },
    {
      why: 'more, and no policy selects it',
      now: MAX_TOLERATIONS + 1,
      policies: policy({ daemonSets: { namespaces: ['elsewhere'] } }),
      expected: { action: 'allow', warnings: [] },
    },
  ])('is left as it is, with a warning, if it has $why', ({ now, before, policies = policy(), expected }) => {
    const running = before === undefined ? undefined : { tolerations: many(before), annotations: {} };
    expect(judge(policies, { tolerations: many(now) }, 'mutate', running as DaemonSetRequest['running'])).toMatchObject(
      expected,
    );
  });
});
