import { describe, expect, it } from 'vitest';
import type { Entry } from '../../../../src/cluster/watch/cached-objects.ts';
import type { ClusterDaemonSet, ClusterNode } from '../../../../src/controllers/sources.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import { nodeEntry } from './node-entries.ts';
import { startRepair } from './repaired-nodes.ts';

const TAINT = { key: 'example.com/network', effect: 'NoSchedule' } as const;
const NOT_READY: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
const readyWhen = { daemonSets: [{ namespace: 'kube-system', name: 'cilium' }] };
const POLICIES: Record<string, TaintPolicySpec> = {
  network: { mode: 'Restore', taints: [{ ...TAINT, ensure: 'UntilReady', readyWhen }] },
};
const CILIUM: Entry<ClusterDaemonSet> = {
  namespace: 'kube-system',
  name: 'cilium',
  uid: 'cilium-uid',
  resourceVersion: '1',
  value: {
    namespace: 'kube-system',
    name: 'cilium',
    nodeName: '',
    nodeSelector: {},
    nodeAffinity: undefined,
    tolerations: [{ operator: 'Exists' }],
    hostNetwork: true,
    deleting: false,
  } as unknown as ClusterDaemonSet,
};

const registered = (name: string, taints: readonly Taint[] = [TAINT]): Entry<ClusterNode> => {
  const entry = nodeEntry(name, taints);
  return { ...entry, value: { ...entry.value, createdAt: Date.now() } };
};
const daemonPod = (ready: boolean) => ({
  metadata: {
    namespace: 'kube-system',
    name: 'cilium-1',
    uid: 'pod',
    creationTimestamp: new Date(Date.now() + 1_000).toISOString(),
    ownerReferences: [{ kind: 'DaemonSet', uid: 'cilium-uid', controller: true }],
  },
  spec: {},
  status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
});

type Cluster = ReturnType<typeof startRepair>;

function lead(nodes: readonly Entry<ClusterNode>[], more: Parameters<typeof startRepair>[2] = {}): Cluster {
  return startRepair(POLICIES, nodes, { daemonSets: [CILIUM], ...more });
}

const stateOf = ({ records }: Cluster, name = 'n1') => records.all()[name]?.startup?.[0]?.state;
const carries = ({ taintsOf }: Cluster, name = 'n1') => taintsOf(name)?.some(({ key }) => key === TAINT.key) ?? false;
const nodeWrites = ({ requests }: Cluster) => requests.filter((request) => request === 'PATCH /api/v1/nodes/n1').length;

/** What a leader has done once the DaemonSet is ready, unless it was killed before. */
async function finished(cluster: Cluster): Promise<void> {
  await expect.poll(() => cluster.isKilled() || stateOf(cluster) !== undefined, { timeout: 5_000 }).toBe(true);
  cluster.setPods([daemonPod(true)]);
  await expect.poll(() => cluster.isKilled() || stateOf(cluster) === 'Removed', { timeout: 5_000 }).toBe(true);
}

const SITUATIONS = [
  // The record as Waiting, as Ready; the Node; the record as Removed.
  { what: 'that has its taint', taints: [TAINT], writes: 4, nodeWrites: 1 },
  // The Node before that.
  { what: 'that registered without it and is not ready', taints: [NOT_READY], writes: 5, nodeWrites: 2 },
];

describe.each(SITUATIONS)('a node $what', ({ taints, writes, nodeWrites: expected }) => {
  it('is through with its startup taint after these writes', async () => {
    const cluster = lead([registered('n1', taints)]);
    cluster.setPods([daemonPod(false)]);
    await finished(cluster);
    expect(carries(cluster)).toBe(false);
    expect(cluster.requests.filter((request) => !request.startsWith('GET'))).toHaveLength(writes);
    expect(nodeWrites(cluster)).toBe(expected);
  });

  it.each(Array.from({ length: writes }, (_, index) => index + 1))(
    'is through with it once, although the leader is killed after write %i',
    async (killedAfter) => {
      const first = lead([registered('n1', taints)], { killedAfter });
      first.setPods([daemonPod(false)]);
      await finished(first);
      await expect.poll(first.isKilled).toBe(true);
      await first.repair.stop();

      const second = lead([...first.cluster.values()], { stored: first.records.all() });
      second.setPods([daemonPod(true)]);
      await finished(second);
      expect(carries(second)).toBe(false);
      expect(nodeWrites(first) + nodeWrites(second)).toBe(expected);
      await second.repair.stop();

      // A third one finds nothing to do, and says nothing.
      const third = lead([...second.cluster.values(), registered('n2')], { stored: second.records.all() });
      third.setPods([daemonPod(true)]);
      await expect.poll(() => stateOf(third, 'n2'), { timeout: 5_000 }).toBe('Removed');
      expect(nodeWrites(third)).toBe(0);
      expect(third.said()).toEqual(['n2 StartupTaintRemoved']);
    },
  );
});

describe('a startup taint that the node registered without', () => {
  it('is not set if the node becomes ready before the write, but reported once', async () => {
    const cluster = lead([registered('n1', [NOT_READY])]);
    cluster.beforeWrite.mockImplementationOnce((name) => cluster.change(name, { taints: [] }));
    await expect.poll(() => stateOf(cluster), { timeout: 5_000 }).toBe('Missed');
    expect(cluster.taintsOf('n1')).toEqual([]);
    cluster.change('n1', { taints: [NOT_READY] });
    cluster.register(registered('n2'));
    await expect.poll(() => stateOf(cluster, 'n2'), { timeout: 5_000 }).toBe('Waiting');
    expect(carries(cluster)).toBe(false);
    expect(cluster.said()).toEqual(['n1 StartupTaintMissed']);
  });

  it('is set beside a change of another writer, and keeps it', async () => {
    const other: Taint = { key: 'dedicated', effect: 'NoSchedule' };
    const cluster = lead([registered('n1', [NOT_READY])]);
    cluster.beforeWrite.mockImplementationOnce((name) => cluster.change(name, { taints: [NOT_READY, other] }));
    await expect.poll(() => cluster.taintsOf('n1'), { timeout: 5_000 }).toEqual([NOT_READY, other, TAINT]);
  });
});

it('a taint of ensure: AtRegistration is never set late, nor reported as missed', async () => {
  const taints = [{ key: 'example.com/preparing', effect: 'NoSchedule', ensure: 'AtRegistration' } as const];
  const both = { network: POLICIES.network, preparing: { mode: 'Restore', taints } } as Record<string, TaintPolicySpec>;
  const cluster = startRepair(both, [registered('n1', [NOT_READY])], { daemonSets: [CILIUM] });
  await expect.poll(() => stateOf(cluster), { timeout: 5_000 }).toBe('Waiting');
  expect(cluster.taintsOf('n1')).toEqual([NOT_READY, TAINT]);
  cluster.change('n1', { taints: [] });
  await expect.poll(() => stateOf(cluster), { timeout: 5_000 }).toBe('Removed');
  expect(cluster.said()).toEqual(['n1 StartupTaintAdded']);
});

describe('the pods of nodes that wait', () => {
  it('are listed at a bounded rate, and of no other node', async () => {
    const waiting = Array.from({ length: 40 }, (_, index) => registered(`n${index}`));
    const others = Array.from({ length: 40 }, (_, index) => {
      const entry = nodeEntry(`old-${index}`);
      return { ...entry, value: { ...entry.value, createdAt: 0 } };
    });
    const start = performance.now();
    const cluster = lead([...waiting, ...others]);
    const lists = () => cluster.requests.filter((request) => request === 'GET /api/v1/pods').length;
    await expect.poll(lists, { timeout: 10_000, interval: 10 }).toBeGreaterThanOrEqual(30);
    // Twenty at once, then ten in a second.
    expect(performance.now() - start).toBeGreaterThan(900);
    expect(lists()).toBeLessThan(35);
  });
});
