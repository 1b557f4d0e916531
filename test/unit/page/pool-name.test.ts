import { expect, it } from 'vitest';
import { poolName } from '../../../src/page/pool-name.ts';

const GPU = { matchLabels: { pool: 'gpu' } };
const ZONE = { matchExpressions: [{ key: 'zone', operator: 'In' as const, values: ['a', 'b'] }] };
const KARPENTER = { 'karpenter.sh/nodepool': 'spot', 'node.kubernetes.io/instance-type': 'm5.large' };

it.each([
  { why: 'the selector of a policy', labels: KARPENTER, selectors: [GPU, ZONE], name: 'pool=gpu' },
  { why: 'a policy for every node says nothing', labels: {}, selectors: [undefined, ZONE], name: 'zone in (a, b)' },
  { why: 'several requirements', labels: {}, selectors: [{ ...GPU, ...ZONE }], name: 'pool=gpu, zone in (a, b)' },
  { why: 'the pool of an autoscaler', labels: KARPENTER, selectors: [undefined], name: 'karpenter.sh/nodepool=spot' },
  {
    why: 'the machine, where no pool is named',
    labels: { 'node.kubernetes.io/instance-type': 'm5.large' },
    selectors: [],
    name: 'node.kubernetes.io/instance-type=m5.large',
  },
  { why: 'nothing is known', labels: { 'kubernetes.io/os': 'linux' }, selectors: [], name: 'other nodes' },
])('$name: $why', ({ labels, selectors, name }) => {
  expect(
    poolName(
      labels,
      selectors.map((nodeSelector) => ({ nodeSelector })),
    ),
  ).toBe(name);
});
