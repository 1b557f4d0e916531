import { expect, it } from 'vitest';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import type { Toleration } from '../../../src/kubernetes/toleration.ts';
import { intolerantPods } from '../../../src/scheduling/intolerant-pods.ts';

const GPU: Taint = { key: 'gpu', value: 'true', effect: 'NoSchedule' };
const EDGE: Taint = { key: 'edge', effect: 'NoExecute' };

it.each<{ why: string; tolerations: readonly Toleration[]; taints: readonly Taint[]; found: readonly Taint[] }>([
  { why: 'NoSchedule evicts no pod', tolerations: [], taints: [GPU], found: [GPU] },
  {
    why: 'NoExecute evicts it, which may take as long as its grace period',
    tolerations: [],
    taints: [EDGE],
    found: [EDGE],
  },
  { why: 'each taint counts', tolerations: [], taints: [GPU, EDGE], found: [GPU, EDGE] },
  {
    why: 'only one is tolerated',
    tolerations: [{ key: 'edge', operator: 'Exists' }],
    taints: [GPU, EDGE],
    found: [GPU],
  },
  { why: 'another value is tolerated', tolerations: [{ key: 'gpu', value: 'false' }], taints: [GPU], found: [GPU] },
  { why: 'the value is tolerated', tolerations: [{ key: 'gpu', value: 'true' }], taints: [GPU], found: [] },
  { why: 'every taint is tolerated', tolerations: [{ operator: 'Exists' }], taints: [GPU, EDGE], found: [] },
  {
    why: 'an operator of a newer Kubernetes may tolerate it',
    tolerations: [{ key: 'gpu', operator: 'Gt', value: '1' }],
    taints: [GPU],
    found: [],
  },
  {
    why: 'PreferNoSchedule keeps no pod away',
    tolerations: [],
    taints: [{ ...GPU, effect: 'PreferNoSchedule' }],
    found: [],
  },
  {
    why: 'a cordoned node keeps its pods',
    tolerations: [],
    taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }],
    found: [],
  },
])('$why', ({ tolerations, taints, found }) => {
  const expected = found.length === 0 ? [] : [{ pod: 'default/a', taints: found }];
  expect(intolerantPods([{ name: 'default/a', tolerations }], taints)).toEqual(expected);
});

it('omits the taints that the caller names, by value and effect', () => {
  const pods = [{ name: 'default/a', tolerations: [] }];
  expect(intolerantPods(pods, [GPU, EDGE], [GPU, { ...EDGE, effect: 'NoSchedule' }])).toEqual([
    { pod: 'default/a', taints: [EDGE] },
  ]);
});
