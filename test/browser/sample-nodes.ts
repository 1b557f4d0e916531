import { type ClusterNode, projectNode } from '../../src/cluster/objects/cluster-objects.ts';
import type { Taint } from '../../src/kubernetes/taint.ts';

interface Pool {
  readonly name: string;
  /** How many of a hundred nodes; the rest are workers. */
  readonly share: number;
  readonly taints: readonly Taint[];
}

const CONTROL_PLANE: Pool = {
  name: 'control-plane',
  share: 0,
  taints: [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }],
};
const POOLS: readonly Pool[] = [
  { name: 'gpu', share: 12, taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }] },
  { name: 'storage', share: 10, taints: [{ key: 'dedicated', value: 'storage', effect: 'NoSchedule' }] },
  { name: 'edge', share: 8, taints: [{ key: 'example.com/edge', effect: 'NoExecute' }] },
];
const WORKERS: Pool = { name: 'worker', share: 0, taints: [] };
const CONTROL_PLANES = 3;
const ZONES = ['a', 'b', 'c'];

/** A node whose taint somebody takes away again and again. */
export const CONFLICT_NODE = 'gpu-b-0002';

/** What is wrong in the sample, by node: the taints that it carries in place of its pool's. */
const WRONG: Readonly<Record<string, readonly Taint[]>> = {
  'gpu-a-0004': [],
  [CONFLICT_NODE]: [],
  'storage-c-0003': [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }],
  'edge-a-0001': [],
  'edge-c-0003': [],
};
const NOT_READY = ['gpu-a-0004', 'worker-b-0005', 'worker-c-0011'];

/** The same for one fault alone. */
const CONFLICT_ALONE: typeof WRONG = { [CONFLICT_NODE]: [] };
const NONE: typeof WRONG = {};

/**
 * Nodes of several pools in three zones. The same ones each time.
 * @param fault what is wrong with them; by default several things
 */
export function sampleNodes(count: number, fault: 'several' | 'conflict' | 'none' = 'several'): ClusterNode[] {
  const wrong = { several: WRONG, conflict: CONFLICT_ALONE, none: NONE }[fault];
  const nodesOf = (pool: Pool, many: number) => poolNodes(pool, many, wrong);
  const special = POOLS.map((pool) => nodesOf(pool, Math.floor((count * pool.share) / 100)));
  const controlPlanes = Array.from({ length: CONTROL_PLANES }, (_, index) =>
    nodeOf(CONTROL_PLANE, `cp-${index + 1}`, index, wrong),
  );
  const workers = count - CONTROL_PLANES - special.flat().length;
  return [...controlPlanes, ...special.flat(), ...nodesOf(WORKERS, workers)];
}

function poolNodes(pool: Pool, count: number, wrong: typeof WRONG): ClusterNode[] {
  return Array.from({ length: count }, (_, index) => {
    const number = String(Math.floor(index / ZONES.length) + 1).padStart(4, '0');
    return nodeOf(pool, `${pool.name}-${ZONES[index % ZONES.length]}-${number}`, index, wrong);
  });
}

function nodeOf({ name: pool, taints }: Pool, name: string, index: number, wrong: typeof WRONG): ClusterNode {
  const role = pool === 'control-plane' ? { 'node-role.kubernetes.io/control-plane': '' } : {};
  return projectNode({
    metadata: {
      name,
      labels: {
        ...role,
        pool,
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'topology.kubernetes.io/zone': ZONES[index % ZONES.length],
      },
    },
    spec: { taints: [...(wrong[name] ?? taints)] },
    status: { conditions: [{ type: 'Ready', status: wrong === WRONG && NOT_READY.includes(name) ? 'False' : 'True' }] },
  });
}
