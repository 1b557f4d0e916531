import { expect, it } from 'vitest';
import type { DaemonSetView } from '../../../../src/judge/daemon-set-view.ts';
import { judgeRunningDaemonSet } from '../../../../src/judge/request/daemon-set.ts';
import type { TolerationPolicySpec } from '../../../../src/policy/toleration-policy.ts';
import { policySet } from '../../policy/policies.ts';

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
