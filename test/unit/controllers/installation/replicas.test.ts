import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ApiClient, RequestOptions } from '../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import type { Nodes, SyncState } from '../../../../src/controllers/cluster-watches.ts';
import { startDrainRelease } from '../../../../src/controllers/installation/drain-release.ts';
import { startReplicaSpread } from '../../../../src/controllers/installation/replica-spread.ts';
import { captureLog } from '../../captured-log.ts';
import { startInTest } from '../run.ts';

const CORDONED = [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }];
const MINUTE_MS = 60_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A namespace with two replicas, `leader` and `other`; '' is no node. */
function startReplicas(placed: { leader: string; other: string }, names: readonly string[]) {
  const at = new Map(Object.entries(placed));
  const ready = new Map([...at].map(([name, node]) => [name, node !== '']));
  const taints = new Map<string, typeof CORDONED>(names.map((name) => [name, []]));
  const evictions: { name: string; dryRun: boolean }[] = [];
  /** The phase of those that have ended. */
  const ended = new Map<string, string>();
  let isProtected = false;
  let retryAfterMs: number | undefined;
  const { log, lines } = captureLog();
  const client = {
    async request(method: string, path: string, { query }: RequestOptions = {}) {
      const [, name = ''] = /pods\/([^/]+)\/eviction$/.exec(path) ?? [];
      if (name) {
        evictions.push({ name, dryRun: query?.dryRun === 'All' });
        if (retryAfterMs !== undefined) throw new ApiError(method, path, 429, 'TooManyRequests', '', { retryAfterMs });
        if (isProtected && ready.get(name)) throw new ApiError(method, path, 429, 'TooManyRequests', '');
        return {};
      }
      if (path.endsWith('/services/taintkeeper')) return { spec: { selector: { app: 'taintkeeper' } } };
      const items = [...at].map(([pod, nodeName]) => ({
        metadata: { name: pod },
        spec: { nodeName, containers: [{ name: 'c', image: 'registry.example/taintkeeper:1' }] },
        status: {
          phase: ended.get(pod) ?? 'Running',
          conditions: [{ type: 'Ready', status: ready.get(pod) ? 'True' : 'False' }],
        },
      }));
      return { metadata: { resourceVersion: '1' }, items };
    },
  } as unknown as ApiClient;
  const nodes = {
    entries: () => [...taints].map(([name, own]) => ({ value: { name, labels: {}, taints: own, ready: true } })),
    synced: Promise.resolve(),
  } as unknown as Nodes & Pick<SyncState, 'synced'>;
  const options = {
    client,
    service: { namespace: 'taintkeeper', name: 'taintkeeper', port: 443 },
    pod: 'leader',
    nodes,
  };
  const protect = (is: boolean) => {
    isProtected = is;
  };
  const keepBusy = (forMs: number | undefined) => {
    retryAfterMs = forMs;
  };
  return { options, log, evictions, at, ready, ended, taints, protect, keepBusy, lines };
}

describe('two replicas on one node', () => {
  it('are not evicted once a minute where that has moved none, but when a node changes, or after an hour', async () => {
    const { options, log, evictions, taints } = startReplicas({ leader: 'n1', other: 'n1' }, ['n1', 'n2']);
    startInTest(log, (run) => startReplicaSpread(run, options));
    const evictionsWithin = async (ms: number) => {
      const before = evictions.length;
      await vi.advanceTimersByTimeAsync(ms);
      return evictions.length - before;
    };
    expect(await evictionsWithin(59 * MINUTE_MS)).toBe(1);
    expect(await evictionsWithin(2 * MINUTE_MS)).toBe(1);
    taints.set('n3', []);
    expect(await evictionsWithin(10 * MINUTE_MS)).toBe(1);
    expect(evictions.every(({ name }) => name === 'other')).toBe(true);
  });

  it.each([
    { why: 'its node shut down', phase: 'Failed' },
    { why: 'it ended by itself', phase: 'Succeeded' },
  ])('are moved although a pod is left that has ended, and stays until it is deleted: $why', async ({ phase }) => {
    const { options, log, evictions, at, ended } = startReplicas({ leader: 'n1', other: 'n1' }, ['n1', 'n2']);
    at.set('left', 'n2');
    ended.set('left', phase);
    startInTest(log, (run) => startReplicaSpread(run, options));
    await vi.advanceTimersByTimeAsync(15_000);
    expect(evictions).toEqual([{ name: 'other', dryRun: false }]);
  });

  it('are moved again after each drain', async () => {
    const { options, log, evictions, at, taints } = startReplicas({ leader: 'n1', other: 'n1' }, ['n1', 'n2']);
    startInTest(log, (run) => startReplicaSpread(run, options));
    const pass = () => vi.advanceTimersByTimeAsync(15_000);
    await pass();
    at.set('other', 'n2');
    await pass();
    taints.set('n2', CORDONED);
    at.set('other', 'n1');
    await pass();
    taints.set('n2', []);
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    expect(evictions).toHaveLength(2);
  });

  it.each<{ why: string; leave(taints: Map<string, typeof CORDONED>): void }>([
    { why: 'it was cordoned', leave: (taints) => void taints.set('n2', CORDONED) },
    { why: 'it was deleted', leave: (taints) => void taints.delete('n2') },
  ])('are moved again to a node that was gone before a check found the replica there ($why)', async ({ leave }) => {
    const { options, log, evictions, at, ready, taints } = startReplicas({ leader: 'n1', other: 'n1' }, ['n1', 'n2']);
    startInTest(log, (run) => startReplicaSpread(run, options));
    const pass = () => vi.advanceTimersByTimeAsync(15_000);
    await vi.advanceTimersByTimeAsync(0);
    leave(taints);
    at.set('other', '');
    ready.set('other', false);
    await pass();
    at.set('other', 'n1');
    ready.set('other', true);
    taints.set('n2', []);
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    expect(evictions).toHaveLength(2);
  });

  it('are not moved again while the replica that was evicted waits for a node', async () => {
    const { options, log, evictions, at, ready } = startReplicas({ leader: 'n1', other: 'n1' }, ['n1', 'n2']);
    startInTest(log, (run) => startReplicaSpread(run, options));
    await vi.advanceTimersByTimeAsync(0);
    at.set('other', '');
    ready.set('other', false);
    await vi.advanceTimersByTimeAsync(15_000);
    at.set('other', 'n1');
    ready.set('other', true);
    await vi.advanceTimersByTimeAsync(10 * MINUTE_MS);
    expect(evictions).toHaveLength(1);
  });
});

it('tries an eviction again when the API server has said, and not after the pause that follows one that was done', async () => {
  const { options, log, evictions, keepBusy } = startReplicas({ leader: 'n1', other: 'n1' }, ['n1', 'n2']);
  keepBusy(30_000);
  startInTest(log, (run) => startReplicaSpread(run, options));
  await vi.advanceTimersByTimeAsync(29_000);
  expect(evictions).toHaveLength(1);
  keepBusy(undefined);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(evictions).toHaveLength(2);
});

describe('the drain of the only node', () => {
  function startDrain() {
    const replicas = startReplicas({ leader: 'n1', other: 'n1' }, ['n1']);
    const said: (string | undefined)[] = [];
    const options = { ...replicas.options, giveWay: (node: string | undefined) => void said.push(node) };
    startInTest(replicas.log, (run) => startDrainRelease(run, options));
    return { ...replicas, said, pass: () => vi.advanceTimersByTimeAsync(5_000) };
  }

  it('makes the last replica not ready until it is evicted or the node is uncordoned', async () => {
    const { pass, said, at, ready, taints, protect, evictions, lines } = startDrain();
    protect(true);
    taints.set('n1', CORDONED);
    await pass();
    expect(said).toEqual([]);

    at.set('other', '');
    ready.set('other', false);
    await pass();
    expect(said).toEqual(['n1']);
    expect(evictions).toEqual([{ name: 'leader', dryRun: true }]);
    ready.set('leader', false);
    await pass();
    expect(said).toEqual(['n1']);

    taints.set('n1', []);
    await pass();
    expect(said).toEqual(['n1', undefined]);
    expect(lines().map(({ msg }) => msg)).toEqual([
      expect.stringMatching(/^not ready from now on, so that node n1 can be drained/),
      expect.stringMatching(/^ready again/),
    ]);
  });

  it('leaves the last replica ready while the API server does not say whether a budget protects it', async () => {
    const { said, at, ready, taints, protect, keepBusy } = startDrain();
    taints.set('n1', CORDONED);
    at.set('other', '');
    ready.set('other', false);
    protect(true);
    keepBusy(10_000);
    await vi.advanceTimersByTimeAsync(100);
    keepBusy(undefined);
    await vi.advanceTimersByTimeAsync(9_000);
    expect(said).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(said).toEqual(['n1']);
  });

  it('leaves a replica ready that no budget protects', async () => {
    const { pass, said, at, ready, taints, evictions } = startDrain();
    taints.set('n1', CORDONED);
    at.set('other', '');
    ready.set('other', false);
    await pass();
    expect(evictions.length).toBeGreaterThan(0);
    expect(said).toEqual([]);
  });
});
