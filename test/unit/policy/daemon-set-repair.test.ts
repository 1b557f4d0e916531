import { expect, it } from 'vitest';
import type { DaemonSetView } from '../../../src/policy/daemon-set.ts';
import {
  ADDED_ANNOTATION,
  addedTolerations,
  judgeRunningDaemonSet,
  withAdded,
} from '../../../src/policy/daemon-set-repair.ts';
import type { TolerationPolicySpec } from '../../../src/policy/toleration-policy.ts';
import { policySet } from './policies.ts';

const MASTER = { key: 'node-role.kubernetes.io/master', operator: 'Exists', effect: 'NoSchedule' } as const;
const GPU = { key: 'gpu', operator: 'Equal', value: 'a100', effect: 'NoExecute' } as const;
const OWN = { key: 'own', operator: 'Exists', later: 'field of a later Kubernetes' };

const spec = (more: Partial<TolerationPolicySpec> = {}): TolerationPolicySpec => ({
  mode: 'Mutate',
  daemonSets: { namespaces: ['kube-flannel'] },
  tolerations: [MASTER],
  existing: 'Patch',
  ...more,
});

const flannel: DaemonSetView = {
  namespace: 'kube-flannel',
  name: 'kube-flannel-ds',
  labels: {},
  annotations: {},
  tolerations: [OWN],
  hostNetwork: false,
  deleting: false,
};

it.each<{
  why: string;
  policies: Record<string, TolerationPolicySpec>;
  daemonSet?: Partial<DaemonSetView>;
  audit?: boolean;
  added: readonly object[];
}>([
  { why: 'Patch', policies: { a: spec() }, added: [MASTER] },
  { why: 'Report', policies: { a: spec({ existing: 'Report' }) }, added: [] },
  {
    why: 'nothing said, which is Report',
    policies: { a: { mode: 'Mutate', daemonSets: { namespaces: ['*'] } } },
    added: [],
  },
  { why: 'Patch under --audit', policies: { a: spec() }, audit: true, added: [] },
  {
    why: 'Patch beside Report: only what Patch wants',
    policies: { a: spec({ existing: 'Report' }), b: spec({ tolerations: [GPU] }) },
    added: [GPU],
  },
  { why: 'two that want the same', policies: { a: spec(), b: spec() }, added: [MASTER] },
  { why: 'it has it', policies: { a: spec() }, daemonSet: { tolerations: [OWN, MASTER] }, added: [] },
  { why: 'another namespace', policies: { a: spec() }, daemonSet: { namespace: 'default' }, added: [] },
  { why: 'on its way out', policies: { a: spec() }, daemonSet: { deleting: true }, added: [] },
  {
    why: 'opted out',
    policies: { a: spec() },
    daemonSet: { annotations: { 'taintkeeper.dev/ignore': 'true' } },
    added: [],
  },
])('$why', ({ policies, daemonSet = {}, audit = false, added }) => {
  const running = { ...flannel, ...daemonSet };
  const decision = judgeRunningDaemonSet(running, policySet({ toleration: policies }, { audit }));
  expect(decision.verdict === 'patch' ? decision.desired.tolerations : running.tolerations).toEqual([
    ...running.tolerations,
    ...added,
  ]);
  expect(decision.violations).toHaveLength(added.length);
});

it('the annotation lists what was added, each once, the earliest first', () => {
  const policies = policySet({ toleration: { a: spec({ tolerations: [MASTER, GPU] }) } });
  const { violations } = judgeRunningDaemonSet(flannel, policies);
  const first = withAdded({}, violations.slice(1));
  expect(first).toBe('gpu=a100:NoExecute');
  const both = withAdded({ [ADDED_ANNOTATION]: first }, violations);
  expect(both).toBe('gpu=a100:NoExecute, node-role.kubernetes.io/master:NoSchedule');
  expect(addedTolerations({ [ADDED_ANNOTATION]: both })).toEqual(violations.toReversed().map(({ subject }) => subject));
});

it.each([
  { why: 'absent', annotations: {} },
  { why: 'empty', annotations: { [ADDED_ANNOTATION]: '' } },
  { why: 'null, as Go writes an empty text', annotations: { [ADDED_ANNOTATION]: null } },
  { why: 'only separators', annotations: { [ADDED_ANNOTATION]: ' , ' } },
])('an annotation that is $why lists nothing', ({ annotations }) => {
  expect(addedTolerations(annotations)).toEqual([]);
});
