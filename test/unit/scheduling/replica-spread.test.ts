import { describe, expect, it } from 'vitest';
import {
  blockedDrain,
  type ReplicaPod,
  replicaToMove,
  type SpreadNode,
  sharedNode,
} from '../../../src/scheduling/replica-spread.ts';

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

describe('two replicas on one node', () => {
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

it('does not move replicas on different nodes', () => {
  const replicas = [replica('leader', 'n1'), replica('other', 'n2')];
  expect(replicaToMove(replicas, [node('n1'), node('n2'), node('n3')], 'leader')).toBeUndefined();
});

describe('the node that all replicas share', () => {
  it.each<{ what: string; nodes: readonly SpreadNode[]; replicas?: readonly ReplicaPod[]; others?: readonly string[] }>(
    [
      { what: 'while another one is free', nodes: [node('n1'), node('n2'), node('n3')], others: ['n2', 'n3'] },
      {
        what: 'while another one is free, and one replica does not serve',
        nodes: [node('n1'), node('n2')],
        replicas: [replica('a', 'n1'), replica('b', 'n1', { serves: false })],
        others: ['n2'],
      },
      { what: 'where it is the only one', nodes: [node('n1')] },
      {
        what: 'where the other one is not for them',
        nodes: [node('n1'), node('n2', { taints: [taint('dedicated')] })],
      },
      {
        what: 'where they have two',
        nodes: [node('n1'), node('n2'), node('n3')],
        replicas: [replica('a', 'n1'), replica('b', 'n2')],
      },
      {
        what: 'where one has none yet',
        nodes: [node('n1'), node('n2')],
        replicas: [replica('a', 'n1'), replica('b', '')],
      },
    ],
  )('is a finding only where another node could take one: $what', ({ nodes, replicas = SHARED, others }) => {
    expect(sharedNode(replicas, nodes)).toEqual(others && { node: 'n1', others, replica: replicas[0] });
  });
});

describe('a drain that the last replica blocks', () => {
  const cordoned = { taints: [taint('node.kubernetes.io/unschedulable')] };
  const EVICTED = [replica('last', 'n1'), replica('waiting', '', { serves: false })];

  it.each<{ what: string; nodes: readonly SpreadNode[]; replicas?: readonly ReplicaPod[]; isHeldUp: boolean }>([
    {
      what: 'the only node is cordoned, and no node takes the other one',
      nodes: [node('n1', cordoned)],
      isHeldUp: true,
    },
    {
      what: 'it is not ready any more itself',
      nodes: [node('n1', cordoned)],
      replicas: [replica('last', 'n1', { serves: false }), replica('waiting', '', { serves: false })],
      isHeldUp: true,
    },
    { what: 'all nodes are cordoned', nodes: [node('n1', cordoned), node('n2', cordoned)], isHeldUp: true },
    {
      what: 'the other node is not for replicas',
      nodes: [node('n1', cordoned), node('n2', { taints: [taint('dedicated')] })],
      isHeldUp: true,
    },
    { what: 'nothing is cordoned: the other one waits for something else', nodes: [node('n1')], isHeldUp: false },
    { what: 'another node takes the other one', nodes: [node('n1', cordoned), node('n2')], isHeldUp: false },
    {
      what: 'its own node is not the one that is cordoned',
      nodes: [node('n1'), node('n2', cordoned)],
      isHeldUp: false,
    },
    {
      what: 'no replica was evicted yet',
      nodes: [node('n1', cordoned)],
      replicas: [replica('last', 'n1'), replica('other', 'n1')],
      isHeldUp: false,
    },
    {
      what: 'another one serves: this may be a rollout',
      nodes: [node('n1', cordoned)],
      replicas: [...EVICTED, replica('third', 'n1')],
      isHeldUp: false,
    },
    { what: 'it is the only one', nodes: [node('n1', cordoned)], replicas: [replica('last', 'n1')], isHeldUp: false },
  ])('$what: $isHeldUp', ({ nodes, replicas = EVICTED, isHeldUp }) => {
    expect(blockedDrain(replicas, nodes, 'last')).toBe(isHeldUp ? 'n1' : undefined);
  });
});
