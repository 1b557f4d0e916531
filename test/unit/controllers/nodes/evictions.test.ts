import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ApiClient } from '../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import type { ClusterNode } from '../../../../src/cluster/cluster-objects.ts';
import type { Entry } from '../../../../src/cluster/watch/cached-objects.ts';
import { startEvictions } from '../../../../src/controllers/nodes/evictions.ts';
import { DEFAULT_EVICTION_RATE } from '../../../../src/evictions/eviction-pace.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import { captureLog } from '../../captured-log.ts';
import { recordListing } from '../../judge/established.ts';
import { rule } from '../../judge/node-drifts.ts';
import { runOf } from '../run.ts';
import { nodeEntry } from './node-entries.ts';
import { startRepair } from './repaired-nodes.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
});
afterEach(() => {
  vi.useRealTimers();
});

const INTERVAL_MS = 10_000;
const out: Taint = { key: 'out', effect: 'NoExecute' };
const gpu: Taint = { key: 'dedicated', effect: 'NoSchedule' };
const OUT = { key: 'out', effect: 'NoExecute', ensure: 'Always', mayEvict: true } as const;
const GPU = { key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' } as const;
const evicting = { p: rule('Restore', OUT) };

const inZone = (entry: Entry<ClusterNode>, zone: string, more: Partial<ClusterNode> = {}) => ({
  ...entry,
  value: { ...entry.value, labels: { 'topology.kubernetes.io/zone': zone }, ...more },
});
const nodes = (count: number, zone = 'a') =>
  Array.from({ length: count }, (_, index) => inZone(nodeEntry(`${zone}${index}`), zone));
/** Whatever is asked for at one time is done within this time. */
const PROMPT_MS = 500;
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

const pendingPod = (name: string) => ({
  metadata: {
    namespace: 'default',
    name,
    creationTimestamp: new Date().toISOString(),
    ownerReferences: [{ kind: 'ReplicaSet', controller: true }],
  },
  spec: {},
});

/** The nodes that have the taint. */
const outOf = ({ cluster }: Pick<ReturnType<typeof startRepair>, 'cluster'>) =>
  [...cluster.values()].filter(({ value }) => value.taints.some(({ key }) => key === 'out')).map(({ name }) => name);

describe('a taint that evicts pods', () => {
  it('does not empty hundreds of nodes within seconds: one in each zone, and one more every ten seconds', async () => {
    const repair = startRepair(evicting, [...nodes(400, 'a'), ...nodes(3, 'b')]);
    await pass(PROMPT_MS);
    expect(outOf(repair)).toEqual(['a0', 'b0']);
    await pass(INTERVAL_MS - 2 * PROMPT_MS);
    expect(outOf(repair)).toHaveLength(2);
    await pass(4 * PROMPT_MS);
    expect(outOf(repair)).toEqual(['a0', 'a1', 'b0', 'b1']);
    await pass(98 * INTERVAL_MS);
    expect(outOf(repair).filter((name) => name.startsWith('b'))).toHaveLength(3);
    expect(outOf(repair).length).toBeLessThanOrEqual(3 + 100);
    expect(outOf(repair).length).toBeGreaterThan(3 + 95);
  });

  it('waits until all nodes are known: the last one to get it may be among the others', async () => {
    const { promise: synced, resolve } = Promise.withResolvers<void>();
    const [first, second] = nodes(2) as [Entry<ClusterNode>, Entry<ClusterNode>];
    const repair = startRepair(evicting, [second], { synced });
    repair.repair.nodeChanged(second.name);
    await pass(INTERVAL_MS);
    expect(outOf(repair)).toEqual([]);
    const timeAdded = new Date().toISOString();
    repair.change(first.name, { ...first.value, taints: [{ ...out, timeAdded }] });
    resolve();
    await pass(INTERVAL_MS - 2 * PROMPT_MS);
    expect(outOf(repair)).toEqual([first.name]);
    await pass(4 * PROMPT_MS);
    expect(outOf(repair).sort()).toEqual([first.name, second.name]);
  });

  it('says on the node when it came', async () => {
    const { writes } = startRepair(evicting, nodes(1));
    await pass(PROMPT_MS);
    expect(writes.map(({ patch }) => patch.spec?.taints)).toEqual([[{ ...out, timeAdded: '2026-01-01T12:00:00Z' }]]);
  });

  it('keeps nothing else back: what does not evict is there at once, on the same nodes and on others', async () => {
    const both = { p: rule('Restore', OUT), q: rule('Restore', GPU) };
    const repair = startRepair(both, nodes(90));
    await pass(PROMPT_MS);
    const withGpu = [...repair.cluster.values()].filter(({ value }) => value.taints.some(({ key }) => key === gpu.key));
    expect(withGpu).toHaveLength(90);
    expect(outOf(repair)).toHaveLength(1);
  });

  it('that many nodes have lost comes back at that pace too: pods may have come since', async () => {
    const policies = { p: rule('Restore', OUT, { deletedNodeRetentionSeconds: 86_400 }) };
    const lost = nodes(50);
    const stored = Object.fromEntries(lost.map(({ name, uid }) => [name, recordListing('out:NoExecute', uid)]));
    const repair = startRepair(policies, lost, { stored });
    await pass(PROMPT_MS);
    expect(outOf(repair)).toEqual(['a0']);
    expect(repair.said()).toEqual(['a0 TaintRestored']);
    await pass(2 * INTERVAL_MS + PROMPT_MS);
    expect(outOf(repair)).toHaveLength(3);
  });

  it('is told of the policy while nodes wait, and of no node before its turn', async () => {
    const { repair, said, saidOfPolicies, onProblems } = startRepair(evicting, nodes(3));
    await pass(PROMPT_MS);
    expect(repair.evicting('p')?.condition).toEqual({
      type: 'Evicting',
      status: 'True',
      reason: 'Paced',
      message: '2 nodes waiting for a taint that evicts pods; at most one node in 10 s in each zone',
    });
    expect(repair.evicting('p')?.nodes).toBe(2);
    expect(repair.evicting('another')).toEqual({ nodes: 0, condition: undefined });
    expect(said()).toEqual(['a0 TaintAdded']);
    expect(saidOfPolicies()).toContain(
      'nodes wait for a taint that evicts pods: at most one node in 10 s in each zone',
    );
    onProblems.mockClear();
    await pass(2 * INTERVAL_MS + 2 * PROMPT_MS);
    expect(said()).toEqual(['a0 TaintAdded', 'a1 TaintAdded', 'a2 TaintAdded']);
    expect(repair.evicting('p')).toEqual({ nodes: 0, condition: undefined });
    expect(onProblems).toHaveBeenCalled();
  });

  it('is waited for no longer by a node that has it from another writer', async () => {
    const { repair, change } = startRepair(evicting, nodes(3));
    await pass(PROMPT_MS);
    expect(repair.evicting('p').nodes).toBe(2);
    change('a2', { taints: [out] });
    await pass(0);
    expect(repair.evicting('p').nodes).toBe(1);
  });

  it('is set on a node that gets its zone label later, once the leader checks the node again', async () => {
    const repair = startRepair(evicting, [nodeEntry('n0'), nodeEntry('n1')]);
    await pass(PROMPT_MS);
    expect(outOf(repair)).toEqual(['n0']);
    // The labels are there when the pace is looked at next, and the look at the node itself comes after that.
    for (const [name, entry] of repair.cluster) repair.cluster.set(name, inZone(entry, 'a'));
    await pass(2 * INTERVAL_MS);
    repair.repair.nodeChanged('n1');
    await pass(PROMPT_MS);
    expect(outOf(repair)).toEqual(['n0', 'n1']);
  });

  it('is waited for no more once no policy requires it', async () => {
    const repair = startRepair(evicting, nodes(3));
    await pass(PROMPT_MS);
    repair.setPolicies({});
    await pass(INTERVAL_MS);
    expect(outOf(repair)).toEqual(['a0']);
    expect(repair.repair.evicting('p')).toEqual({ nodes: 0, condition: undefined });
  });
});

describe('a change of the leader', () => {
  it('does not begin the pace anew: the next one knows from the nodes when the last one wrote', async () => {
    const first = startRepair(evicting, nodes(5));
    await pass(4_000);
    await first.repair.stop();
    expect(outOf(first)).toEqual(['a0']);
    const second = startRepair(evicting, [...first.cluster.values()]);
    await pass(INTERVAL_MS - 4_000 - PROMPT_MS);
    expect(second.writes).toEqual([]);
    // Nodes tell whole seconds.
    await pass(1_000 + 2 * PROMPT_MS);
    expect(outOf(second)).toEqual(['a0', 'a1']);
  });

  it('while pods have no node: the next one waits for them as well', async () => {
    const first = startRepair(evicting, nodes(5));
    await pass(1_000);
    await first.repair.stop();
    const second = startRepair(evicting, [...first.cluster.values()]);
    second.setPods([pendingPod('web-1')]);
    await pass(300_000);
    expect(outOf(second)).toEqual(['a0']);
  });
});

describe('no node gets it', () => {
  it('while pods created since are unscheduled', async () => {
    const repair = startRepair(evicting, nodes(5));
    await pass(PROMPT_MS);
    repair.setPods([pendingPod('web-1'), pendingPod('web-2')]);
    await pass(3 * INTERVAL_MS);
    expect(outOf(repair)).toEqual(['a0']);
    const why = 'waiting: 2 pods created since are unscheduled (default/web-1, default/web-2)';
    expect(repair.repair.evicting('p')?.condition).toMatchObject({
      reason: 'PodsWithoutNode',
      message: `4 nodes waiting for a taint that evicts pods; at most one node in 10 s in each zone; ${why}`,
    });
    expect(repair.repair.problems()).toEqual([]);
    await pass(60_000);
    expect(repair.repair.problems()).toEqual([
      {
        kind: 'TaintPolicy',
        policy: 'p',
        reason: 'PodsWithoutNode',
        message: `nodes lack a taint that evicts pods; ${why}`,
      },
    ]);
    expect(repair.saidOfPolicies()).toContain(
      'nodes wait for a taint that evicts pods: pods created since are unscheduled',
    );
    repair.setPods([]);
    await pass(INTERVAL_MS + PROMPT_MS);
    expect(outOf(repair)).toEqual(['a0', 'a1']);
    expect(repair.repair.evicting('p')?.condition).toMatchObject({ reason: 'Paced' });
    expect(repair.repair.problems()).toEqual([]);
  });

  it('while a pod is unscheduled, for an hour at most: users can create pods that no node can take', async () => {
    const repair = startRepair(evicting, nodes(5));
    await pass(PROMPT_MS);
    repair.setPods([pendingPod('web-1')]);
    await pass(3_600_000 - INTERVAL_MS);
    expect(outOf(repair)).toEqual(['a0']);
    await pass(2 * INTERVAL_MS);
    expect(outOf(repair).length).toBeGreaterThan(1);
  });

  it('while more pods are unscheduled than the leader checks', async () => {
    const repair = startRepair(evicting, nodes(5));
    await pass(PROMPT_MS);
    repair.setPods(Array(2_001).fill(pendingPod('web')));
    await pass(2 * INTERVAL_MS);
    expect(outOf(repair)).toEqual(['a0']);
    expect(repair.repair.evicting('p')?.condition?.message).toContain('too many pods are unscheduled');
  });

  it('while the API server answers the list of pods with an error', async () => {
    const repair = startRepair(evicting, nodes(5));
    await pass(PROMPT_MS);
    repair.setPods(new ApiError('GET', '/api/v1/pods', 500, 'InternalError', 'etcd'));
    await pass(10 * INTERVAL_MS);
    expect(outOf(repair)).toEqual(['a0']);
    repair.setPods([]);
    await pass(4 * INTERVAL_MS);
    expect(outOf(repair).length).toBeGreaterThan(1);
  });

  it('in a zone where too many nodes are not ready; in others they do', async () => {
    const unready = nodes(10, 'a').map((entry, index) => (index < 6 ? inZone(entry, 'a', { ready: false }) : entry));
    const repair = startRepair(evicting, [...unready, ...nodes(2, 'b')]);
    await pass(INTERVAL_MS + 2 * PROMPT_MS);
    expect(outOf(repair)).toEqual(['b0', 'b1']);
    expect(repair.repair.evicting('p')?.condition).toMatchObject({
      reason: 'ZoneNotReady',
      message: expect.stringContaining('waiting: 6 of 10 nodes in zone a are not ready'),
    });
    repair.change('a0', { ready: true });
    await pass(INTERVAL_MS + PROMPT_MS);
    expect(outOf(repair)).toEqual(['a0', 'b0', 'b1']);
  });

  it('where the rate is 0', async () => {
    const repair = startRepair(evicting, nodes(2), { evictionRate: 0 });
    await pass(100 * INTERVAL_MS);
    expect(outOf(repair)).toEqual([]);
    expect(repair.repair.evicting('p')?.condition).toMatchObject({
      reason: 'RateIsZero',
      message: '2 nodes waiting for a taint that evicts pods; waiting: the rate is 0 (serve --node-eviction-rate)',
    });
  });
});

it('without the right to list pods there is the pace alone, and that is said', async () => {
  const repair = startRepair(evicting, nodes(5));
  repair.setPods(new ApiError('GET', '/api/v1/pods', 403, 'Forbidden', 'cannot list pods'));
  await pass(2 * INTERVAL_MS + 3 * PROMPT_MS);
  expect(outOf(repair)).toHaveLength(3);
  expect(repair.repair.evicting('p')?.condition?.message).toMatch(
    /; does not wait for unscheduled pods: taintkeeper may not list and watch pods \(set listPods: true /,
  );
});

describe('a turn', () => {
  it('does not count if the write conflicts with another writer: the next node gets the turn', async () => {
    const repair = startRepair(evicting, nodes(3));
    repair.beforeWrite.mockImplementationOnce((name) => {
      throw new ApiError('PATCH', name, 409, 'Conflict', '');
    });
    await pass(PROMPT_MS);
    expect(outOf(repair)).toEqual(['a1']);
    repair.change('a0', { labels: { 'topology.kubernetes.io/zone': 'a', changed: 'too' } });
    await pass(2 * INTERVAL_MS + 2 * PROMPT_MS);
    expect(outOf(repair)).toEqual(['a0', 'a1', 'a2']);
  });

  it('that the API server refuses is over, and keeps no other node back', async () => {
    const repair = startRepair(evicting, nodes(3));
    repair.beforeWrite.mockImplementation((name) => {
      if (name === 'a0') throw new ApiError('PATCH', name, 403, 'Forbidden', 'not this one');
    });
    await pass(PROMPT_MS);
    expect(repair.repair.problems()).toMatchObject([{ reason: 'RepairRefused' }]);
    await pass(2 * INTERVAL_MS + 3 * PROMPT_MS);
    expect(outOf(repair)).toEqual(['a1', 'a2']);
    expect(repair.repair.problems()).toMatchObject([{ reason: 'RepairRefused' }]);
    await pass(10 * INTERVAL_MS);
    expect(repair.writes.filter(({ name }) => name === 'a0').length).toBeLessThanOrEqual(12);
  });

  it('of a deleted node goes to another node', async () => {
    const repair = startRepair(evicting, nodes(3));
    repair.beforeWrite.mockImplementationOnce(repair.remove);
    await pass(INTERVAL_MS + 3 * PROMPT_MS);
    expect(outOf(repair).length).toBeGreaterThan(0);
    await pass(INTERVAL_MS);
    expect(outOf(repair)).toEqual(['a1', 'a2']);
  });

  it('during which the node gets another zone does not keep back the other nodes of its earlier zone', async () => {
    const [first, second] = nodes(2) as [Entry<ClusterNode>, Entry<ClusterNode>];
    const moved = inZone(first, 'b');
    let known = [first, second];
    const turns: string[] = [];
    const stopping = new AbortController();
    const evictions = startEvictions(runOf(stopping, captureLog().log), {
      client: { now: () => new Date() } as ApiClient,
      nodes: { entries: () => known },
      synced: Promise.resolve(),
      rate: DEFAULT_EVICTION_RATE,
      onTurn: (name) => turns.push(name),
      recordEvent: () => {},
      onChange: () => {},
    });
    const lacking = new Set(['p']);
    evictions.waits(first, lacking);
    evictions.waits(second, lacking);
    await pass(PROMPT_MS);
    expect(turns).toEqual([first.name]);
    await evictions.check(first.name, async () => {
      known = [moved, second];
      evictions.waits(moved, lacking);
      await pass(PROMPT_MS);
    });
    await pass(PROMPT_MS);
    expect(turns).toEqual([first.name, first.name, second.name]);
    stopping.abort();
    await evictions.stop();
  });
});
