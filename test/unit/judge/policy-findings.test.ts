import { describe, expect, it } from 'vitest';
import { parsePolicies } from '../../../src/files/policy-files.ts';
import { daemonSetFindings, nodeFindings, podFindings } from '../../../src/judge/findings.ts';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import { compilePolicies } from '../../../src/policy/policy-set.ts';
import { withEstablished } from './established.ts';

const POLICIES = parsePolicies([
  {
    name: 'test',
    text: `
apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata: { name: gpu }
spec:
  mode: Restore
  nodeSelector: { matchLabels: { pool: gpu } }
  taints: [{ key: dedicated, value: gpu, effect: NoSchedule, ensure: Always }, { key: other, restrict: [Removal] }]
---
apiVersion: taintkeeper.dev/v1alpha1
kind: TolerationPolicy
metadata: { name: cni }
spec:
  mode: Mutate
  daemonSets: { namespaces: [kube-system] }
---
apiVersion: taintkeeper.dev/v1alpha1
kind: RecoveryPolicy
metadata: { name: daemons }
spec:
  daemonSets: { namespaces: [kube-system] }
  stuckSeconds: 10
`,
  },
]);
const { taintPolicies, tolerationPolicies, recoveryPolicies } = compilePolicies(POLICIES);
const [gpu] = taintPolicies;
const [cni] = tolerationPolicies;
const [daemons] = recoveryPolicies;
if (!gpu || !cni || !daemons) throw new Error('the policies are not there');

const node = (name: string, pool: string, ...keys: string[]) => ({
  name,
  labels: { pool },
  taints: keys.map((key) => ({ key, value: 'gpu', effect: 'NoSchedule' })),
  allowRemoval: undefined,
  remembered: undefined as string | undefined,
  established: (_: Taint) => false,
});
const daemonSet = (namespace: string, name: string, keys: string[] = [], annotations = {}) => ({
  namespace,
  name,
  labels: {},
  annotations,
  tolerations: keys.map((key) => ({ key, operator: 'Exists', effect: 'NoSchedule' })),
  hostNetwork: false,
  deleting: false,
});

it('of nodes: those that lack a required taint', () => {
  const nodes = [
    node('other', 'cpu'),
    node('good', 'gpu', 'dedicated'),
    node('bare', 'gpu'),
    node('strange', 'gpu', 'other'),
  ];
  expect(nodeFindings(gpu, nodes, [])).toEqual({ matched: 3, violators: ['bare', 'strange'] });
});

it('of nodes: those that lost a protected taint which their record lists, unless it was released', () => {
  const remembered = (name: string, ...keys: string[]) => ({
    ...node(name, 'gpu', 'dedicated', ...keys),
    remembered: 'other=gpu:NoSchedule, third:NoSchedule',
  });
  const nodes = [
    ...[
      remembered('good', 'other'),
      remembered('lost'),
      { ...remembered('changed', 'other'), remembered: 'other=x:NoSchedule' },
      { ...remembered('released'), allowRemoval: 'other:NoSchedule' },
      { ...remembered('left'), labels: { pool: 'cpu' } },
    ].map(withEstablished),
    remembered('forged'),
  ];
  expect(nodeFindings(gpu, nodes, [])).toEqual({ matched: 5, violators: ['changed', 'lost'] });
});

it('of nodes: with --audit, those that lost a recorded taint, as without it', () => {
  const [audited] = compilePolicies(POLICIES, { audit: true }).taintPolicies;
  const recorded = (name: string, allowRemoval?: string) => ({
    ...node(name, 'gpu', 'dedicated'),
    remembered: 'other=gpu:NoSchedule',
    allowRemoval,
  });
  const nodes = [recorded('lost'), recorded('announced', 'other:NoSchedule')].map(withEstablished);
  expect(audited && nodeFindings(audited, nodes, [])).toEqual({ matched: 2, violators: ['lost'] });
});

it('of DaemonSets: those that lack a toleration, unless they opted out', () => {
  const both = ['node-role.kubernetes.io/master', 'node-role.kubernetes.io/control-plane'];
  const daemonSets = [
    daemonSet('default', 'elsewhere'),
    daemonSet('kube-system', 'good', both),
    daemonSet('kube-system', 'half', both.slice(1)),
    daemonSet('kube-system', 'out', [], { 'taintkeeper.dev/ignore': 'true' }),
  ];
  expect(daemonSetFindings(cni, daemonSets, [])).toEqual({ matched: 3, violators: ['kube-system/half'] });
});

it('of pods: those that have been Failed for long enough; of DaemonSets, those that the policy selects', () => {
  const [there, elsewhere] = [daemonSet('kube-system', 'cni'), daemonSet('default', 'cni')];
  const pods = [
    { name: 'kube-system/cni-new', daemonSet: there, forMs: 9_999 },
    { name: 'kube-system/cni-2', daemonSet: there, forMs: 10_000 },
    { name: 'kube-system/cni-1', daemonSet: there, forMs: 60_000 },
    { name: 'default/cni-1', daemonSet: elsewhere, forMs: 60_000 },
  ];
  expect(podFindings(daemons, [there, elsewhere], pods, ['kube-system/cni-1'])).toEqual({
    matched: 1,
    violators: ['kube-system/cni-2', 'kube-system/cni-1'],
  });
});

describe('the violators', () => {
  const bare = (...names: string[]) => names.map((name) => node(name, 'gpu'));

  it('come with the latest first, and by name among those found together', () => {
    const first = nodeFindings(gpu, bare('b', 'a'), []).violators;
    expect(first).toEqual(['a', 'b']);
    const second = nodeFindings(gpu, bare('a', 'b', 'd', 'c'), first).violators;
    expect(second).toEqual(['c', 'd', 'a', 'b']);
  });

  it('are without those that violate no more', () => {
    expect(nodeFindings(gpu, bare('b'), ['a', 'b']).violators).toEqual(['b']);
  });
});
