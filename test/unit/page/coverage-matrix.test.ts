import { expect, it } from 'vitest';
import type { ClusterDaemonSet, ClusterNode } from '../../../src/cluster/objects/cluster-objects.ts';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import { type EvaluatedCoverage, coverageMatrix as matrixWith } from '../../../src/page/coverage-matrix.ts';
import { parsePolicy } from '../../../src/policy/policy.ts';
import { compilePolicies, type PolicySet } from '../../../src/policy/policy-set.ts';
import type { SchedulingView } from '../../../src/scheduling/coverage.ts';
import { manyTolerations } from '../judge/request/daemon-set-cases.ts';
import { policySet } from '../policy/policies.ts';
import { CONTROL_PLANE, GPU, daemonSet as scheduling } from '../scheduling/scheduling.ts';

const node = (name: string, taints: readonly Taint[] = [], labels = {}): ClusterNode => ({
  ...{ name, labels, taints, allowRemoval: undefined, ready: true },
});

const daemonSet = (
  name: string,
  given: Partial<SchedulingView & Pick<ClusterDaemonSet, 'isCritical' | 'annotations'>> = {},
): ClusterDaemonSet => ({
  ...{
    labels: {},
    annotations: {},
    deleting: false,
    generation: 1,
    onDelete: false,
    podSelector: {},
    isCritical: false,
  },
  ...scheduling(name, given),
  ...given,
  status: { observedGeneration: 1, desired: 3, current: 3, updated: 3, unavailable: 1 },
});

const NO_POLICIES = compilePolicies([]);

/** The matrix, with what the problems need of its rows. */
const coverageMatrix = async (
  daemonSets: readonly ClusterDaemonSet[],
  nodes: readonly ClusterNode[],
  policies: PolicySet = NO_POLICIES,
) => {
  const { shown, daemonSets: rows }: EvaluatedCoverage = await matrixWith(daemonSets, nodes, policies);
  return { ...shown, daemonSets: rows };
};

/** Each cell in words, by DaemonSet. */
async function cellsOf(daemonSets: readonly ClusterDaemonSet[], nodes: readonly ClusterNode[]) {
  const { answers, daemonSets: rows } = await coverageMatrix(daemonSets, nodes);
  return Object.fromEntries(
    rows.map(({ name, cells }) => [
      name,
      cells.map((index) => {
        const { kind, passing, evicted, reasons } = answers[index] ?? { kind: 'none', reasons: [] };
        return [kind, ...(passing ? ['passing'] : []), ...(evicted ? ['evicted'] : []), ...reasons].join(' ');
      }),
    ]),
  );
}

it('puts nodes that are alike into one column, the most of them first', async () => {
  const { groups, groupsLeftOut, daemonSets } = await coverageMatrix(
    [daemonSet('proxy', { tolerations: [{ operator: 'Exists' }] }), daemonSet('cni')],
    [
      node('cp', [CONTROL_PLANE], { 'node-role.kubernetes.io/control-plane': '' }),
      ...['w3', 'w1', 'w2'].map((name) => node(name)),
    ],
  );
  expect(groups).toEqual([
    { label: '', count: 3, examples: ['w1', 'w2', 'w3'], taints: [] },
    {
      label: 'control-plane',
      count: 1,
      examples: ['cp'],
      taints: ['node-role.kubernetes.io/control-plane:NoSchedule'],
    },
  ]);
  expect(groupsLeftOut).toBe(0);
  expect(daemonSets).toMatchObject([
    { namespace: 'kube-system', name: 'cni', runs: 3, keptOff: 1, desired: 3, unavailable: 1 },
    { name: 'proxy', runs: 4, keptOff: 0 },
  ]);
});

it('says which taints evict the pods of a DaemonSet again', async () => {
  const evicting = daemonSet('cni', { tolerations: [{ operator: 'Exists', tolerationSeconds: 60 }] });
  const down = { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' };
  const nodes = [node('n1', [{ ...GPU, effect: 'NoExecute' }]), node('n2', [down]), node('n3')];
  expect(await cellsOf([evicting], nodes)).toEqual({
    cni: ['runs evicted taint dedicated=gpu:NoExecute evicts each pod after 60 s', 'runs', 'runs'],
  });
});

it('says why a DaemonSet is kept off, and whether that is meant', async () => {
  expect(
    await cellsOf(
      [daemonSet('cni'), daemonSet('gpu', { nodeSelector: { pool: 'gpu' } })],
      [
        node('n1', [GPU]),
        node('n2', [{ ...GPU, effect: 'NoExecute' }], { pool: 'gpu' }),
        node('n3', [{ key: 'node.cilium.io/agent-not-ready', effect: 'NoSchedule' }], { pool: 'gpu' }),
        node('n4', [], { pool: 'gpu' }),
      ],
    ),
  ).toEqual({
    cni: [
      'stays taint dedicated=gpu:NoSchedule',
      'tainted taint dedicated=gpu:NoExecute',
      'stays passing taint node.cilium.io/agent-not-ready:NoSchedule',
      'runs',
    ],
    gpu: [
      'elsewhere nodeSelector pool=gpu taint dedicated=gpu:NoSchedule',
      'tainted taint dedicated=gpu:NoExecute',
      'stays passing taint node.cilium.io/agent-not-ready:NoSchedule',
      'runs',
    ],
  });
});

it('bounds the columns, and counts all nodes all the same', async () => {
  const nodes = Array.from({ length: 230 }, (_, index) => node(`n${index}`, [{ ...GPU, value: `v${index}` }]));
  const { groups, groupsLeftOut, daemonSets } = await coverageMatrix([daemonSet('cni')], nodes);
  expect([groups.length, groupsLeftOut]).toEqual([200, 30]);
  expect(daemonSets).toMatchObject([{ runs: 0, keptOff: 230 }]);
  expect(daemonSets[0]?.cells.length).toBe(200);
});

it('names the keys that a toleration would have to name, but of no taint that passes, nor where it is not meant to run', async () => {
  const starting = { key: 'node.cilium.io/agent-not-ready', effect: 'NoSchedule' } as const;
  const { answers } = await coverageMatrix(
    [daemonSet('cni'), daemonSet('gpu', { nodeSelector: { pool: 'gpu' } })],
    [node('n1', [GPU, starting]), node('n2', [starting], { pool: 'gpu' })],
  );
  expect(answers.map(({ kind, keys }) => [kind, ...(keys ?? [])])).toEqual([
    ['stays', 'dedicated'],
    ['stays'],
    ['elsewhere'],
  ]);
});

it('says which DaemonSets are annotated as those to be left alone', async () => {
  const left = { ...daemonSet('left'), annotations: { 'taintkeeper.dev/ignore': 'true' } };
  const { daemonSets } = await coverageMatrix([daemonSet('cni'), left], [node('n1', [GPU])]);
  expect(daemonSets.map(({ optsOut }) => optsOut)).toEqual([undefined, true]);
});

it.each([
  ['one name of the control plane\u2019s taint', ['node-role.kubernetes.io/master'], true],
  ['both', ['node-role.kubernetes.io/master', 'node-role.kubernetes.io/control-plane'], false],
  ['none', [], false],
])('says of a DaemonSet whether it tolerates %s', async (_what, keys, half) => {
  const tolerations = keys.map((key) => ({ key, operator: 'Exists' }));
  const { daemonSets } = await coverageMatrix([daemonSet('cni', { tolerations })], [node('cp', [CONTROL_PLANE])]);
  expect(daemonSets.map(({ halfTolerant = false }) => halfTolerant)).toEqual([half]);
});

it.each([
  { why: 'an old pod is being replaced', status: { updated: 2 }, rolling: true },
  { why: 'the old pod is on a node that is not Ready', status: { updated: 2 }, unready: 1, rolling: undefined },
  {
    why: 'another node is not Ready, where it does not run',
    given: { nodeSelector: { pool: 'gpu' } },
    status: { updated: 2 },
    unready: 1,
    rolling: true,
  },
  { why: 'a pod cannot be created', status: { current: 2, updated: 2 }, rolling: undefined },
])('says whether it is rolling out: $why', async ({ given, status, unready = 0, rolling }) => {
  const whole = daemonSet('cni', given);
  const nodes = Array.from({ length: unready }, (_, index) => ({ ...node(`n${index}`), ready: false }));
  const { daemonSets } = await coverageMatrix([{ ...whole, status: { ...whole.status, ...status } }], nodes);
  expect(daemonSets[0]?.rollingOut).toBe(rolling);
});

function tolerating(...keys: string[]): PolicySet {
  const result = parsePolicy({
    apiVersion: 'taintkeeper.dev/v1alpha1',
    kind: 'TolerationPolicy',
    metadata: { name: 'cni' },
    spec: {
      mode: 'Mutate',
      daemonSets: { namespaces: ['kube-system'] },
      tolerations: keys.map((key) => ({ key, operator: 'Exists' })),
    },
  });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return compilePolicies([result.policy]);
}

const CLUSTER = [node('cp', [CONTROL_PLANE]), ...['g1', 'g2'].map((name) => node(name, [GPU])), node('w')];
const CRITICAL = { isCritical: true };
const CROWDED = { tolerations: manyTolerations(257) };

it('says of a DaemonSet with so many tolerations that no policy adds any what it lacks', async () => {
  const { daemonSets } = await coverageMatrix([daemonSet('cni', CROWDED)], CLUSTER, tolerating(GPU.key));
  expect(daemonSets[0]).toMatchObject({ lacking: true, tooManyTolerations: true });
});

it.each([
  {
    why: 'a node-critical daemon that no policy is about: a policy for all of its nodes, and a rollout',
    given: CRITICAL,
    remedy: {
      command: expect.stringMatching(
        /^taintkeeper coverage fix -n kube-system --daemonset cni --taint dedicated \| kubectl apply -f - && kubectl wait --for=condition=Ready tolerationpolicy\/coverage-kube-system\.[0-9a-f]{8} && kubectl rollout restart -n kube-system daemonset cni$/,
      ),
      nodes: 3,
    },
  },
  {
    why: 'a policy requires all that it lacks: a rollout does it',
    given: {},
    policies: tolerating(CONTROL_PLANE.key, GPU.key),
    remedy: { command: 'kubectl rollout restart -n kube-system daemonset cni', nodes: 3 },
  },
  {
    why: 'a policy requires one of two that a node-critical daemon lacks: the command adds the other, and cures the nodes of both',
    given: CRITICAL,
    policies: tolerating(CONTROL_PLANE.key),
    remedy: { command: expect.stringContaining(' --taint dedicated | kubectl apply '), nodes: 3 },
  },
  {
    why: 'a policy requires one of two that another daemon lacks: the other is taken for intended',
    given: {},
    policies: tolerating(CONTROL_PLANE.key),
    remedy: { command: 'kubectl rollout restart -n kube-system daemonset cni', nodes: 1 },
  },
  {
    why: 'one with so many tolerations that no policy adds any: only its owner can',
    given: { ...CRITICAL, ...CROWDED },
    policies: tolerating(CONTROL_PLANE.key, GPU.key),
    remedy: undefined,
  },
  { why: 'a daemon that is probably not meant for these nodes', given: {}, remedy: undefined },
  {
    why: 'one that opts out',
    given: { ...CRITICAL, annotations: { 'taintkeeper.dev/ignore': 'true' } },
    remedy: undefined,
  },
  { why: 'one that runs everywhere', given: { ...CRITICAL, tolerations: [{ operator: 'Exists' }] }, remedy: undefined },
])('has one remedy for all gaps of a DaemonSet: $why', async ({ given, policies, remedy }) => {
  const { daemonSets } = await coverageMatrix([daemonSet('cni', given)], CLUSTER, policies);
  expect(daemonSets[0]?.remedy).toEqual(remedy);
});

it.each([
  { why: 'a node-critical daemon is kept off', given: CRITICAL, gap: true },
  { why: 'a policy requires what it lacks', given: {}, policies: tolerating(GPU.key), gap: true },
  { why: 'a taint of the pool keeps it off', given: {}, gap: undefined },
  {
    why: 'a taint of the pool keeps it off, and a policy requires a toleration of its own for longer',
    given: {
      tolerations: [
        { key: 'maintenance', operator: 'Exists', effect: 'NoSchedule' },
        { key: 'maintenance', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 60 },
      ],
    },
    policies: tolerating('maintenance'),
    gap: undefined,
    unchangedBy: ['cni'],
  },
  { why: 'it opts out', given: { ...CRITICAL, annotations: { 'taintkeeper.dev/ignore': 'true' } }, gap: undefined },
  { why: 'it runs everywhere', given: { ...CRITICAL, tolerations: [{ operator: 'Exists' }] }, gap: undefined },
])('says whether that is a gap: $why', async ({ given, policies, gap, unchangedBy }) => {
  const { shown, daemonSets } = await matrixWith([daemonSet('cni', given)], CLUSTER, policies ?? NO_POLICIES);
  expect([shown.daemonSets[0]?.gap, daemonSets[0]?.gap]).toEqual([gap, gap]);
  expect(daemonSets[0]?.unchangedBy).toEqual(unchangedBy);
});

it('shows no facts that only the problems need', async () => {
  const { shown, daemonSets } = await matrixWith([daemonSet('cni', CRITICAL)], CLUSTER, tolerating(GPU.key));
  expect(daemonSets[0]).toMatchObject({ critical: true, lacking: true, remedy: {} });
  for (const key of ['critical', 'lacking', 'remedy']) expect(shown.daemonSets[0]).not.toHaveProperty(key);
});

const OWN = { key: 'example.com/storage-not-ready', effect: 'NoSchedule' } as const;

/** A policy whose startup taint waits for a DaemonSet. */
function storageTaint(name: string, nodeSelector = {}): PolicySet {
  const readyWhen = { daemonSets: [{ namespace: 'kube-system', name }] };
  return policySet({
    taint: { storage: { mode: 'Restore', nodeSelector, taints: [{ ...OWN, ensure: 'UntilReady', readyWhen }] } },
  });
}

it.each([
  { what: 'another DaemonSet: the node keeps it off for a while', name: 'csi', passing: true },
  { what: 'it: the node keeps it off for good', name: 'cni', passing: false },
])('knows a startup taint of a policy that waits for $what', async ({ name, passing }) => {
  const nodes = [node('new', [OWN]), node('w')];
  const { answers, daemonSets } = await coverageMatrix([daemonSet('cni', CRITICAL)], nodes, storageTaint(name));
  expect(answers.filter(({ kind }) => kind === 'stays')).toEqual([
    { kind: 'stays', reasons: [`taint ${OWN.key}:NoSchedule`], ...(passing ? { passing } : { keys: [OWN.key] }) },
  ]);
  expect(daemonSets[0]?.keptOff).toBe(passing ? 0 : 1);
  expect(daemonSets[0]?.remedy === undefined).toBe(passing);
});

it('knows that a startup taint passes only on the nodes that its policy selects', async () => {
  const nodes = [node('n-a', [OWN], { pool: 'a' }), node('n-b', [OWN], { pool: 'b' })];
  const policies = storageTaint('csi', { matchLabels: { pool: 'a' } });
  const { answers, groups, daemonSets } = await coverageMatrix([daemonSet('cni', CRITICAL)], nodes, policies);
  expect(groups.map(({ examples }) => examples)).toEqual([['n-a'], ['n-b']]);
  expect(daemonSets[0]?.cells.map((index) => answers[index]?.passing ?? false)).toEqual([true, false]);
  expect(daemonSets[0]).toMatchObject({ keptOff: 1, remedy: { nodes: 1 } });
});
