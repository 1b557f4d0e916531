import { expect, it } from 'vitest';
import type { DaemonSetView } from '../../../src/judge/daemon-set.ts';
import {
  ADDED_ANNOTATION,
  ADDED_BY_ANNOTATION,
  addedHere,
  addedTolerations,
  judgeRunningDaemonSet,
  recordOfAdded,
} from '../../../src/judge/daemon-set-repair.ts';
import type { TolerationPolicySpec } from '../../../src/policy/toleration-policy.ts';
import { policySet } from '../policy/policies.ts';

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
    why: 'Patch beside Report: only what Patch requires',
    policies: { a: spec({ existing: 'Report' }), b: spec({ tolerations: [GPU] }) },
    added: [GPU],
  },
  { why: 'two that require the same', policies: { a: spec(), b: spec() }, added: [MASTER] },
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
  expect(decision.action === 'patch' ? decision.desired.tolerations : running.tolerations).toEqual([
    ...running.tolerations,
    ...added,
  ]);
  expect(decision.violations).toHaveLength(added.length);
});

it('the annotation lists what was added, each once, the earliest first', () => {
  const policies = policySet({ toleration: { a: spec({ tolerations: [MASTER, GPU] }) } });
  const { violations } = judgeRunningDaemonSet(flannel, policies);
  const first = recordOfAdded({ annotations: {}, tolerations: [] }, violations.slice(1), undefined);
  expect(first).toEqual({ [ADDED_ANNOTATION]: 'gpu=a100:NoExecute' });
  const both = recordOfAdded({ annotations: first, tolerations: [] }, violations, 'uid-1');
  expect(both).toEqual({
    [ADDED_ANNOTATION]: 'gpu=a100:NoExecute, node-role.kubernetes.io/master:NoSchedule',
    [ADDED_BY_ANNOTATION]: 'uid-1',
  });
  expect(addedTolerations(both)).toEqual(violations.toReversed().map(({ subject }) => subject));
});

it.each([
  { why: 'its own', by: 'uid-1', installation: 'uid-1', here: ['gpu'] },
  { why: 'that of an earlier one', by: 'uid-1', installation: 'uid-2', here: [] },
  { why: 'without a name', by: undefined, installation: 'uid-2', here: ['gpu'] },
  { why: 'of one with a name, by one that has none', by: 'uid-1', installation: undefined, here: ['gpu'] },
])('an installation answers for a record that is $why: $here', ({ by, installation, here }) => {
  const annotations = { [ADDED_ANNOTATION]: 'gpu', ...(by === undefined ? {} : { [ADDED_BY_ANNOTATION]: by }) };

  expect(addedHere(annotations, installation)).toEqual(here);
});

it('what an earlier installation added stays listed as long as it is there', () => {
  const annotations = { [ADDED_ANNOTATION]: 'gpu:NoSchedule, gone', [ADDED_BY_ANNOTATION]: 'uid-1' };
  const daemonSet = { annotations, tolerations: [{ key: 'gpu', operator: 'Exists', effect: 'NoSchedule' }] };

  expect(recordOfAdded(daemonSet, [], 'uid-2')).toEqual({
    [ADDED_ANNOTATION]: 'gpu:NoSchedule',
    [ADDED_BY_ANNOTATION]: 'uid-2',
  });
});

it.each([
  { why: 'absent', annotations: {} },
  { why: 'empty', annotations: { [ADDED_ANNOTATION]: '' } },
  { why: 'null, as Go writes an empty text', annotations: { [ADDED_ANNOTATION]: null } },
  { why: 'only separators', annotations: { [ADDED_ANNOTATION]: ' , ' } },
])('an annotation that is $why lists nothing', ({ annotations }) => {
  expect(addedTolerations(annotations)).toEqual([]);
});
