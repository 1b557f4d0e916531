import { describe, expect, it } from 'vitest';
import { isNowhere, type ReplicaPod, replicaToMove, type SpreadNode } from '../../../src/coverage/placement.ts';

const LINUX = { 'kubernetes.io/os': 'linux' };

function replica(name: string, node: string, changes: Partial<ReplicaPod> = {}): ReplicaPod {
  return {
    name,
    node,
    serves: true,
    image: 'registry.example.com/taintkeeper:1',
    nodeSelector: LINUX,
    nodeAffinity: undefined,
    tolerations: [],
    ...changes,
  };
}

function node(name: string, changes: Partial<SpreadNode> = {}): SpreadNode {
  return { name, labels: LINUX, taints: [], ready: true, ...changes };
}

const taint = (key: string, effect = 'NoSchedule') => ({ key, effect });
const SHARED = [replica('leader', 'n1'), replica('other', 'n1')];

describe('of two replicas on one node', () => {
  it.each<{ what: string; nodes: readonly SpreadNode[]; replicas?: readonly ReplicaPod[] }>([
    { what: 'where another node has none', nodes: [node('n1'), node('n2')] },
    {
      what: 'where it tolerates the other node',
      nodes: [node('n1'), node('n2', { taints: [taint('dedicated')] })],
      replicas: [
        SHARED[0] as ReplicaPod,
        replica('other', 'n1', { tolerations: [{ key: 'dedicated', operator: 'Exists' }] }),
      ],
    },
    {
      what: 'where the other node would rather not',
      nodes: [node('n1'), node('n2', { taints: [taint('spare', 'PreferNoSchedule')] })],
    },
  ])('the one that does not lead moves $what', ({ nodes, replicas = SHARED }) => {
    expect(replicaToMove(replicas, nodes, 'leader')).toMatchObject({ replica: { name: 'other' }, nodes: ['n2'] });
  });

  it.each<{ what: string; nodes: readonly SpreadNode[]; replicas?: readonly ReplicaPod[] }>([
    { what: 'on the only node', nodes: [node('n1')] },
    { what: 'while the other node is not Ready', nodes: [node('n1'), node('n2', { ready: false })] },
    {
      what: 'while the other node is cordoned',
      nodes: [node('n1'), node('n2', { taints: [taint('node.kubernetes.io/unschedulable')] })],
    },
    {
      what: 'onto a node of another kind',
      nodes: [node('n1'), node('n2', { labels: { 'kubernetes.io/os': 'windows' } })],
    },
    {
      what: 'against its node affinity',
      nodes: [node('n1'), node('n2')],
      replicas: SHARED.map((one) => ({
        ...one,
        nodeAffinity: [{ matchExpressions: [{ key: 'zone', operator: 'Exists', values: [] }], matchFields: [] }],
      })),
    },
    {
      what: 'while a third one does not serve',
      nodes: [node('n1'), node('n2'), node('n3')],
      replicas: [...SHARED, replica('third', '', { serves: false })],
    },
    {
      what: 'onto a node that has one',
      nodes: [node('n1'), node('n2')],
      replicas: [...SHARED, replica('third', 'n2')],
    },
  ])('none moves $what', ({ nodes, replicas = SHARED }) => {
    expect(replicaToMove(replicas, nodes, 'leader')).toBeUndefined();
  });
});

it('leaves replicas alone that have a node each', () => {
  const replicas = [replica('leader', 'n1'), replica('other', 'n2')];
  expect(replicaToMove(replicas, [node('n1'), node('n2'), node('n3')], 'leader')).toBeUndefined();
});

it.each([
  { image: 'taintkeeper.invalid/taintkeeper:0.1.0', nowhere: true },
  { image: 'localhost/taintkeeper', nowhere: true },
  { image: 'localhost:5000/taintkeeper', nowhere: true },
  { image: 'registry.example.com/taintkeeper:1', nowhere: false },
  { image: 'taintkeeper:1', nowhere: false },
])('whether no registry has $image: $nowhere', ({ image, nowhere }) => {
  expect(isNowhere(image)).toBe(nowhere);
});
