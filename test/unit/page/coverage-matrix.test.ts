import { expect, it } from 'vitest';
import type { ClusterDaemonSet, ClusterNode } from '../../../src/cluster/cluster-objects.ts';
import type { SchedulingView } from '../../../src/coverage/coverage.ts';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import { coverageMatrix } from '../../../src/page/coverage-matrix.ts';
import { CONTROL_PLANE, GPU, daemonSet as scheduling } from '../coverage/scheduling.ts';

const node = (name: string, taints: readonly Taint[] = [], labels = {}): ClusterNode => ({
  ...{ name, labels, taints, allowRemoval: undefined, ready: true },
});

const daemonSet = (name: string, given: Partial<SchedulingView> = {}): ClusterDaemonSet => ({
  ...scheduling(name, given),
  ...{ labels: {}, annotations: {}, deleting: false, generation: 1, onDelete: false, podSelector: {} },
  status: { observedGeneration: 1, desired: 3, updated: 3, unavailable: 1 },
});

/** Each cell in words, by DaemonSet. */
async function cellsOf(daemonSets: readonly ClusterDaemonSet[], nodes: readonly ClusterNode[]) {
  const { answers, daemonSets: rows } = await coverageMatrix(daemonSets, nodes);
  return Object.fromEntries(
    rows.map(({ name, cells }) => [
      name,
      cells.map((index) => {
        const { kind, passing, reasons } = answers[index] ?? { kind: 'none', reasons: [] };
        return [kind, ...(passing ? ['passing'] : []), ...reasons].join(' ');
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
