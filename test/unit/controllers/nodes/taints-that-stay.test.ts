import { expect, it } from 'vitest';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import { rule } from '../../judge/node-drifts.ts';
import { nodeEntry } from './node-entries.ts';
import { startRepair } from './repaired-nodes.ts';

const GPU = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' } as const;
const GPU_POOL: TaintPolicySpec = {
  ...rule('Restore', { ...GPU, ensure: 'Always' }),
  nodeSelector: { matchLabels: { pool: 'gpu' } },
};
const OTHER = { key: 'other', value: 'x', effect: 'NoSchedule' } as const;
const FIRST = { key: 'first', value: 'x', effect: 'NoSchedule' } as const;
const OTHERS = rule('Restore', { ...OTHER, ensure: 'Always' });

it.each<{ what: string; leave: (cluster: ReturnType<typeof startRepair>) => void }>([
  { what: 'the policy is deleted', leave: (cluster) => cluster.setPolicies({ others: OTHERS }) },
  {
    what: 'the policy is replaced by one that requires another taint',
    leave: (cluster) =>
      cluster.setPolicies({ gpu: { ...GPU_POOL, taints: [{ ...OTHER, ensure: 'Always' }] }, others: OTHERS }),
  },
  {
    what: 'the labels of the node change',
    leave: (cluster) => {
      cluster.change('n1', { labels: { pool: 'elsewhere' } });
      cluster.setPolicies({ gpu: GPU_POOL, others: OTHERS });
    },
  },
])('a required taint stays on the node when $what', async ({ leave }) => {
  const entry = nodeEntry('n1', [GPU]);
  const before = { gpu: GPU_POOL, first: rule('Restore', { ...FIRST, ensure: 'Always' }) };
  const cluster = startRepair(before, [{ ...entry, value: { ...entry.value, labels: { pool: 'gpu' } } }]);
  // The leader has come to the node once it has set a taint on it.
  await expect.poll(() => cluster.taintsOf('n1')).toContainEqual(FIRST);
  leave(cluster);
  await expect.poll(() => cluster.taintsOf('n1')).toContainEqual(OTHER);
  expect(cluster.taintsOf('n1')).toContainEqual(GPU);
});
