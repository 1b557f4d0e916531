import { describe, expect, it } from 'vitest';
import { traitsOf } from '../../../src/coverage/node-traits.ts';
import { affine, daemonSet, GPU, MASTER, node } from '../scheduling/scheduling.ts';

describe('what the nodes of a group have in common', () => {
  const chooser = daemonSet('a', {
    nodeSelector: { pool: 'gpu' },
    ...affine({ key: 'zone', operator: 'Exists', values: [] }),
  });

  const NOTHING = { roles: new Map(), taints: new Map() };

  it.each<{ why: string; nodes: ReturnType<typeof node>[]; traits: object }>([
    {
      why: 'roles, taints, and labels by which DaemonSets choose',
      nodes: [
        node('n1', [GPU, MASTER], { 'node-role.kubernetes.io/infra': '', pool: 'gpu', zone: 'a', host: 'n1' }),
        node('n2', [MASTER, GPU], { 'node-role.kubernetes.io/infra': '', pool: 'gpu', zone: 'a', host: 'n2' }),
      ],
      traits: { roles: ['infra'], taints: [GPU, MASTER], labels: { pool: 'gpu', zone: 'a' }, partly: NOTHING },
    },
    {
      why: 'and, with numbers, the roles and taints in which they differ',
      nodes: [
        node('n1', [GPU, MASTER], { 'node-role.kubernetes.io/infra': '', pool: 'gpu', zone: 'a' }),
        node('n2', [{ ...GPU, value: 'other' }, MASTER], { pool: 'gpu', zone: 'b' }),
        node('n3', [MASTER], { pool: 'gpu' }),
      ],
      traits: {
        roles: [],
        taints: [MASTER],
        labels: { pool: 'gpu' },
        partly: {
          roles: new Map([['infra', 1]]),
          taints: new Map([
            ['dedicated=gpu:NoSchedule', 1],
            ['dedicated=other:NoSchedule', 1],
          ]),
        },
      },
    },
    {
      why: 'and the role of nodes after the first',
      nodes: [node('n1'), node('n2', [MASTER], { 'node-role.kubernetes.io/infra': '' })],
      traits: {
        roles: [],
        taints: [],
        labels: {},
        partly: {
          roles: new Map([['infra', 1]]),
          taints: new Map([['node-role.kubernetes.io/master:NoSchedule', 1]]),
        },
      },
    },
    { why: 'of none, nothing', nodes: [], traits: { roles: [], taints: [], labels: {}, partly: NOTHING } },
  ])('$why', ({ nodes, traits }) => {
    expect(traitsOf(nodes, [chooser])).toEqual(traits);
  });
});
