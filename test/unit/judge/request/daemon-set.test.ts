import { describe, expect, it } from 'vitest';
import { type DaemonSetView, MAX_TOLERATIONS } from '../../../../src/judge/daemon-set-view.ts';
import type { Phase } from '../../../../src/judge/decision.ts';
import {
  type DaemonSetRequest,
  judgeDaemonSet,
  judgeRunningDaemonSet,
} from '../../../../src/judge/request/daemon-set.ts';
import type { Toleration } from '../../../../src/kubernetes/toleration.ts';
import type { PolicySet } from '../../../../src/policy/policy-set.ts';
import type { TolerationPolicySpec } from '../../../../src/policy/toleration-policy.ts';
import { policySet } from '../../policy/policies.ts';
import { CONTROL_PLANE, MASTER, manyTolerations } from './daemon-set-cases.ts';

// Which tolerations are added and which are reported is in daemon-set-cases.ts.

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

describe('says', () => {
  const FOREVER = { key: 'maintenance', operator: 'Exists', effect: 'NoExecute' } as const;
  const SUBJECT = 'node-role.kubernetes.io/control-plane:NoSchedule';
  const violation = { policyKind: 'TolerationPolicy', policy: 'cni', field: 'spec.tolerations[1]', subject: SUBJECT };

  it.each<{ what: string; phase: Phase; policies: PolicySet; tolerations: Toleration[]; expected: object }>([
    {
      what: 'what was added',
      phase: 'mutate',
      policies: policy(),
      tolerations: [MASTER],
      expected: {
        violations: [{ ...violation, mode: 'Mutate', change: 'Missing', result: 'Added', audit: false }],
        warnings: [`TolerationPolicy cni added toleration ${SUBJECT}`],
        auditAnnotations: { added: `cni: ${SUBJECT}` },
      },
    },
    {
      what: 'what is missing',
      phase: 'validate',
      policies: policy(),
      tolerations: [MASTER],
      expected: {
        violations: [{ ...violation, mode: 'Mutate', change: 'Missing', result: 'Reported', audit: false }],
        warnings: [`TolerationPolicy cni: toleration ${SUBJECT} is missing`],
        auditAnnotations: { reported: `cni: ${SUBJECT}` },
      },
    },
    {
      what: 'what is missing by a policy in mode Audit',
      phase: 'validate',
      policies: policy({ mode: 'Audit' }),
      tolerations: [MASTER],
      expected: {
        violations: [{ ...violation, mode: 'Audit', change: 'Missing', result: 'Audited', audit: false }],
        warnings: [`TolerationPolicy cni, Audit: toleration ${SUBJECT} is missing`],
        auditAnnotations: { audited: `cni: ${SUBJECT}` },
      },
    },
    {
      what: 'with --audit, what a policy in mode Mutate would add',
      phase: 'validate',
      policies: policySet({ toleration: { cni } }, { audit: true }),
      tolerations: [MASTER],
      expected: {
        violations: [{ ...violation, mode: 'Audit', change: 'Missing', result: 'Added', audit: true }],
        warnings: [`TolerationPolicy cni would add toleration ${SUBJECT} (--audit)`],
        auditAnnotations: { 'audit-added': `cni: ${SUBJECT}` },
      },
    },
    {
      what: 'which toleration ends too early',
      phase: 'validate',
      policies: policy({ tolerations: [FOREVER] }),
      tolerations: [{ ...FOREVER, tolerationSeconds: 0 }],
      expected: {
        violations: [{ result: 'Reported', subject: 'maintenance:NoExecute without tolerationSeconds' }],
        warnings: [
          'TolerationPolicy cni: toleration maintenance:NoExecute without tolerationSeconds is missing',
          'toleration maintenance:NoExecute for 0 s comes first: change its tolerationSeconds in the DaemonSet',
        ],
      },
    },
    ...(['mutate', 'validate'] as const).map((phase) => ({
      what: `in the phase ${phase}, which operator it takes as not tolerating`,
      phase,
      policies: policy(),
      tolerations: [
        MASTER,
        { key: CONTROL_PLANE.key, operator: 'Equal', value: 'true' },
        { key: CONTROL_PLANE.key, operator: 'Gt', value: '5' },
        { key: 'example.com/other', operator: 'Gt', value: '5' },
      ],
      expected: {
        warnings: [
          phase === 'mutate'
            ? `TolerationPolicy cni added toleration ${SUBJECT}`
            : `TolerationPolicy cni: toleration ${SUBJECT} is missing`,
          'toleration node-role.kubernetes.io/control-plane=5 (Gt): operator not supported, treated as not tolerating',
        ],
      },
    })),
  ])('$what', ({ phase, policies, tolerations, expected }) => {
    expect(judge(policies, { tolerations }, phase)).toMatchObject(expected);
  });
});

describe('a DaemonSet that runs', () => {
  const GPU = { key: 'gpu', operator: 'Equal', value: 'a100', effect: 'NoExecute' } as const;
  const OWN = { key: 'own', operator: 'Exists', later: 'field of a later Kubernetes' };
  const patching: TolerationPolicySpec = { ...cni, existing: 'Patch', tolerations: [MASTER] };

  it.each<{ why: string; policies: Record<string, TolerationPolicySpec>; audit?: boolean; added: readonly object[] }>([
    { why: 'Patch', policies: { a: patching }, added: [MASTER] },
    { why: 'Report', policies: { a: { ...cni, existing: 'Report' } }, added: [] },
    { why: 'the default, which is Report', policies: { a: cni }, added: [] },
    { why: 'Patch under --audit', policies: { a: patching }, audit: true, added: [] },
    {
      why: 'Patch beside Report: only what Patch requires',
      policies: { a: { ...cni, existing: 'Report' }, b: { ...patching, tolerations: [GPU] } },
      added: [GPU],
    },
  ])('is patched if the policy says so: $why', ({ policies, audit = false, added }) => {
    const running = { ...flannel, tolerations: [OWN] };
    const decision = judgeRunningDaemonSet(running, policySet({ toleration: policies }, { audit }));
    expect(decision.action === 'patch' ? decision.desired.tolerations : [OWN]).toEqual([OWN, ...added]);
    expect(decision.violations).toHaveLength(added.length);
  });
});

it('each DaemonSet gets the tolerations of its own policies, independent of earlier requests', () => {
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
    const running = before === undefined ? undefined : { tolerations: manyTolerations(before), annotations: {} };
    expect(
      judge(policies, { tolerations: manyTolerations(now) }, 'mutate', running as DaemonSetRequest['running']),
    ).toMatchObject(expected);
  });

  it.each<{ why: string; daemonSet: Partial<DaemonSetView>; policies?: PolicySet; missing: string[] }>([
    { why: 'what is missing is reported', daemonSet: {}, missing: ['master', 'control-plane'] },
    {
      why: 'nothing of what it tolerates',
      daemonSet: { tolerations: [...manyTolerations(300), MASTER] },
      missing: ['control-plane'],
    },
    { why: 'nothing if it opts out', daemonSet: { annotations: { 'taintkeeper.dev/ignore': 'true' } }, missing: [] },
    { why: 'nothing if it is being deleted', daemonSet: { deleting: true }, missing: [] },
    { why: 'nothing if no policy selects it', daemonSet: { namespace: 'elsewhere' }, missing: [] },
    { why: 'nothing if the policy does not patch', daemonSet: {}, policies: policy(), missing: [] },
  ])('is not patched while it runs: $why', ({ daemonSet, policies = policy({ existing: 'Patch' }), missing }) => {
    const decision = judgeRunningDaemonSet({ ...flannel, tolerations: manyTolerations(300), ...daemonSet }, policies);
    expect(decision.action).toBe('allow');
    expect(decision.violations.map(({ subject, result }) => `${result} ${subject}`)).toEqual(
      missing.map((role) => `Reported node-role.kubernetes.io/${role}:NoSchedule`),
    );
  });
});
