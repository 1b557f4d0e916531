import { expect, it } from 'vitest';
import { formatObstacle, type Obstacle } from '../../../src/scheduling/obstacle.ts';

const zone = { key: 'zone', operator: 'In', values: ['a', 'b'], found: 'c', malformed: false };
const disk = { key: 'disk', operator: 'Exists', values: [], found: undefined, malformed: false };

it.each<[Obstacle, string]>([
  [
    { kind: 'taint', taint: { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' } },
    'taint dedicated=gpu:NoSchedule is not tolerated',
  ],
  [
    { kind: 'nodeSelector', key: 'pool', required: 'gpu', found: undefined },
    'nodeSelector requires pool=gpu, the node has none',
  ],
  [
    { kind: 'nodeSelector', key: 'pool', required: 'gpu', found: 'cpu' },
    'nodeSelector requires pool=gpu, the node has cpu',
  ],
  [
    { kind: 'nodeSelector', key: 'pool', required: 'gpu', found: '' },
    'nodeSelector requires pool=gpu, the node has an empty one',
  ],
  [{ kind: 'nodeName', required: 'w2' }, 'nodeName requires node w2'],
  [{ kind: 'nodeAffinity', terms: [] }, 'node affinity: it has no terms'],
  [
    {
      kind: 'nodeAffinity',
      terms: [
        { index: 0, unmet: [zone, disk] },
        { index: 1, unmet: [{ ...zone, values: ['a b'], malformed: true }] },
        { index: 2, unmet: [] },
      ],
    },
    'node affinity: requires zone In [a, b] (the node has c) and requires disk Exists (the node has none), or ' +
      'zone In [a b], which is not valid, or term 2 is empty, which matches no node',
  ],
])('%o', (obstacle, text) => {
  expect(formatObstacle(obstacle)).toBe(text);
});
