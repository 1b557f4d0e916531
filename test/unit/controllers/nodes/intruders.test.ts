import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ApiClient, RequestOptions } from '../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import type { Change, Entry } from '../../../../src/cluster/watch/cached-objects.ts';
import { evictionTurns } from '../../../../src/controllers/nodes/eviction-turns.ts';
import { startIntruders } from '../../../../src/controllers/nodes/intruders.ts';
import { createReports } from '../../../../src/controllers/reports.ts';
import type { ClusterNode } from '../../../../src/controllers/sources.ts';
import type { RecordedEvent } from '../../../../src/kubernetes/event.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import type { OptionalRight } from '../../../../src/policy/backstop.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import { createSubject } from '../../../../src/runtime/source.ts';
import { createMetrics } from '../../../../src/server/metrics.ts';
import { captureLog } from '../../captured-log.ts';
import { policySet } from '../../policy/policies.ts';
import { nodeEntry } from './node-entries.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
});
afterEach(() => {
  vi.useRealTimers();
});
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
/** From the return of a taint to the look at pods. */
const PROMPT_MS = 1_500;

const gpu: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const GPU = 'dedicated=gpu:NoSchedule';
const RULES = { taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Present' }] } as const;
const REPORT = { mode: 'Restore', ...RULES } as unknown as TaintPolicySpec;
const EVICT: TaintPolicySpec = { ...REPORT, intruders: 'Evict' };

const pod = (name: string, { controller = 'ReplicaSet', tolerations = [] as object[] } = {}) => ({
  metadata: {
    namespace: 'default',
    name,
    uid: `uid-${name}`,
    creationTimestamp: new Date(NOW - 3_600_000).toISOString(),
    managedFields: [{ fieldsV1: { 'f:spec': {} } }],
    ownerReferences: [{ kind: controller, controller: true }],
  },
  spec: { tolerations },
  status: {
    phase: 'Running',
    conditions: [{ type: 'PodScheduled', status: 'True', lastTransitionTime: new Date().toISOString() }],
  },
});

interface Options {
  readonly spec?: TaintPolicySpec;
  readonly rights?: readonly OptionalRight[];
  readonly rate?: number;
  readonly predecessorAt?: number;
  readonly audit?: boolean;
}

/** Nodes that are to carry the taint, and their pods. Evicted pods are gone at once, but for those that a budget holds back. */
function start(names: readonly string[], options: Options = {}) {
  const { spec = REPORT, rate = 0.1, predecessorAt, audit = false } = options;
  const rights = new Set<OptionalRight>(options.rights ?? ['listPods', 'evictPods']);
  const cluster = new Map<string, Entry<ClusterNode>>();
  const pods = new Map(names.map((name) => [name, [] as ReturnType<typeof pod>[]]));
  const heldBack = new Set<string>();
  const evicted: string[] = [];
  const lists: string[] = [];
  const events: RecordedEvent[] = [];
  const { log } = captureLog();
  const changes = createSubject<Change<ClusterNode>>();
  const rightChanges = createSubject();
  const reports = createReports();
  const stopping = new AbortController();
  const client: Pick<ApiClient, 'request' | 'now'> = {
    now: () => new Date(),
    async request<T>(method: string, path: string, { query = {} }: RequestOptions = {}) {
      if (method === 'GET') {
        const name = String(query.fieldSelector).replace('spec.nodeName=', '');
        lists.push(name);
        const items = [...(pods.get(name) ?? [])];
        await onList();
        return { metadata: { resourceVersion: '1' }, items } as T;
      }
      const name = path.split('/').at(-2) ?? '';
      if (heldBack.has(name)) throw new ApiError(method, path, 429, 'TooManyRequests', 'it would violate the budget');
      evicted.push(name);
      onEvicted();
      for (const [node, all] of pods)
        pods.set(
          node,
          all.filter(({ metadata }) => metadata.name !== name),
        );
      return {} as T;
    },
  };
  let compiled = policySet({ taint: { p: spec } }, { audit });
  const policyChanges = createSubject();
  /** Does what somebody else does while a pod is being evicted. */
  const onEvicted = vi.fn();
  /** Holds the answer back that is made. */
  const onList = vi.fn(async () => {});
  const nodes = {
    get: (name: string) => cluster.get(name),
    entries: () => cluster.values(),
    changes,
    news: createSubject(),
  };
  const turns = evictionTurns({ client: client as ApiClient, nodes, evictionRate: rate });
  const controller = startIntruders({
    client: client as ApiClient,
    nodes,
    policies: { snapshot: () => ({ policies: [], compiled, versions: new Set() }), changes: policyChanges },
    rights: { permits: (right) => rights.has(right), changes: rightChanges },
    evictionTurns: turns,
    predecessorAt,
    record: (event) => void events.push(event),
    reports,
    metrics: createMetrics('test'),
    log,
    signal: stopping.signal,
  });
  onTestFinished(() => {
    stopping.abort();
    return controller.stop();
  });
  const show = (name: string, taints: readonly Taint[], remembered = GPU) => {
    const entry = nodeEntry(name);
    cluster.set(name, { ...entry, value: { ...entry.value, taints, remembered } });
    changes.next({ type: 'added', entry });
  };
  for (const name of names) show(name, [gpu]);
  return {
    pods,
    turns,
    heldBack,
    evicted,
    lists,
    show,
    /** The taint is lost, pods land ten seconds later, and ten seconds after that it is back. */
    async intrude(node: string, ...intruders: readonly (() => ReturnType<typeof pod>)[]) {
      await pass(10_000);
      show(node, []);
      await pass(10_000);
      pods.get(node)?.push(...intruders.map((make) => make()));
      await pass(10_000);
      show(node, [gpu]);
      await pass(PROMPT_MS);
    },
    onEvicted,
    onList,
    setPolicies(taint: Readonly<Record<string, TaintPolicySpec>>) {
      compiled = policySet({ taint }, { audit });
      policyChanges.next();
    },
    permit(right: OptionalRight) {
      rights.add(right);
      rightChanges.next();
    },
    remove(name: string) {
      const entry = cluster.get(name);
      cluster.delete(name);
      if (entry) changes.next({ type: 'deleted', entry });
    },
    condition: () => reports.intruders({ kind: 'TaintPolicy', name: 'p' }),
    on: (name: string) => reports.intrudersOn(name),
    said: () => events.map(({ regarding, reason, note }) => `${regarding.kind} ${regarding.name} ${reason}: ${note}`),
  };
}

describe('pods that landed while a taint was missing', () => {
  it('are named on the node, on themselves and on the policy, once the taint is back', async () => {
    const cluster = start(['n1']);
    await pass(5_000);
    cluster.pods.get('n1')?.push({
      ...pod('before'),
      status: {
        ...pod('before').status,
        conditions: [
          { type: 'PodScheduled', status: 'True', lastTransitionTime: new Date(NOW - 60_000).toISOString() },
        ],
      },
    });
    await cluster.intrude(
      'n1',
      () => pod('a'),
      () => pod('b', { tolerations: [{ key: 'dedicated', operator: 'Exists' }] }),
    );
    expect(cluster.said()).toEqual([
      `Node n1 IntruderFound: 1 pod landed while ${GPU} was missing: default/a, and do not tolerate it`,
      `TaintPolicy p IntruderFound: Node n1: 1 pod landed while ${GPU} was missing: default/a`,
      `Pod a IntruderFound: landed on Node n1 while ${GPU} was missing, and does not tolerate it`,
    ]);
    expect(cluster.condition()).toMatchObject({ status: 'True', reason: 'PodsLanded' });
    expect(cluster.on('n1')).toBe(`1 pod landed while ${GPU} was missing: default/a`);
    expect(cluster.evicted).toEqual([]);
  });

  it('are told of once, and forgotten once they are gone', async () => {
    const cluster = start(['n1']);
    await cluster.intrude('n1', () => pod('a'));
    await pass(300_000);
    expect(cluster.said()).toHaveLength(3);
    cluster.pods.set('n1', []);
    await pass(60_000);
    expect(cluster.condition()).toBeUndefined();
    expect(cluster.on('n1')).toBeUndefined();
    const looks = cluster.lists.length;
    await pass(300_000);
    expect(cluster.lists).toHaveLength(looks);
  });

  it('are nobody’s business where pods may not be listed, until that is permitted', async () => {
    const cluster = start(['n1'], { rights: [] });
    await cluster.intrude('n1', () => pod('a'));
    expect([cluster.lists, cluster.said(), cluster.condition()]).toEqual([[], [], undefined]);
    cluster.permit('listPods');
    await pass(PROMPT_MS);
    expect(cluster.said()).toHaveLength(3);
  });

  it('are none where the taint went with leave', async () => {
    const cluster = start(['n1']);
    await pass(10_000);
    cluster.show('n1', [], '');
    await pass(10_000);
    cluster.pods.get('n1')?.push(pod('a'));
    await pass(10_000);
    cluster.show('n1', [gpu]);
    await pass(PROMPT_MS);
    expect(cluster.lists).toEqual([]);
  });

  it.each([
    { what: 'are known also where nobody led when the taint was lost', predecessorAt: NOW - 120_000, found: 1 },
    { what: 'are not known where nobody knows since when the node has had it', found: 0 },
    { what: 'are not those that came while somebody led', predecessorAt: NOW - 30_000, found: 0 },
  ])('$what', async ({ predecessorAt, found }) => {
    const cluster = start([], predecessorAt === undefined ? {} : { predecessorAt });
    const landed = pod('a');
    const at = new Date(NOW - 60_000).toISOString();
    landed.status.conditions = [{ type: 'PodScheduled', status: 'True', lastTransitionTime: at }];
    cluster.pods.set('n1', [landed]);
    cluster.show('n1', []);
    await pass(100);
    cluster.show('n1', [gpu]);
    await pass(PROMPT_MS);
    expect(cluster.lists).toEqual(['n1']);
    expect(cluster.said()).toHaveLength(3 * found);
  });

  it.each([
    { what: 'the taint goes and returns', registers: false },
    { what: 'the node registers anew, and the taint goes and returns', registers: true },
  ])('are looked for again where $what while pods are being listed', async ({ registers }) => {
    const cluster = start(['n1']);
    const answer = Promise.withResolvers<void>();
    cluster.onList.mockImplementationOnce(() => answer.promise);
    await cluster.intrude('n1');
    expect(cluster.lists).toHaveLength(1);
    if (registers) {
      cluster.remove('n1');
      cluster.show('n1', [gpu]);
      await pass(10_000);
    }
    cluster.show('n1', []);
    await pass(10_000);
    cluster.pods.get('n1')?.push(pod('a'));
    await pass(10_000);
    cluster.show('n1', [gpu]);
    answer.resolve();
    await pass(PROMPT_MS);
    expect(cluster.said()).toHaveLength(3);
  });

  it('are forgotten with their node', async () => {
    const cluster = start(['n1']);
    await cluster.intrude('n1', () => pod('a'));
    cluster.remove('n1');
    expect(cluster.condition()).toBeUndefined();
  });
});

describe('intruders: Evict', () => {
  it('evicts them, and not the pods of DaemonSets', async () => {
    const cluster = start(['n1'], { spec: EVICT });
    await cluster.intrude(
      'n1',
      () => pod('a'),
      () => pod('daemon', { controller: 'DaemonSet' }),
    );
    expect(cluster.evicted).toEqual(['a']);
    expect(cluster.said().filter((text) => text.includes('IntruderEvicted'))).toEqual([
      `Node n1 IntruderEvicted: evicted Pod default/a, which landed while ${GPU} was missing`,
      `Pod a IntruderEvicted: evicted from Node n1: it landed while ${GPU} was missing`,
      'TaintPolicy p IntruderEvicted: Node n1: evicted Pod default/a',
    ]);
    await pass(120_000);
    expect(cluster.evicted).toEqual(['a']);
    expect(cluster.condition()).toMatchObject({
      reason: 'PodsLanded',
      message: expect.stringMatching(/1 of DaemonSets stay$/),
    });
  });

  it('tries again what a PodDisruptionBudget holds back, and says so once', async () => {
    const cluster = start(['n1'], { spec: EVICT });
    cluster.heldBack.add('b');
    await cluster.intrude(
      'n1',
      () => pod('a'),
      () => pod('b'),
    );
    expect(cluster.evicted).toEqual(['a']);
    expect(cluster.condition()).toMatchObject({ reason: 'EvictionHeldBack' });
    await pass(30_000);
    expect(cluster.said().filter((text) => text.startsWith('Pod b IntruderHeldBack'))).toEqual([
      expect.stringContaining('it would violate the budget'),
    ]);
    cluster.heldBack.clear();
    await pass(60_000);
    expect(cluster.evicted).toEqual(['a', 'b']);
    expect(cluster.condition()).toBeUndefined();
  });

  it('goes from node to node at the pace that taintkeeper runs with', async () => {
    const names = ['n1', 'n2', 'n3'];
    const cluster = start(names, { spec: EVICT });
    await pass(10_000);
    for (const name of names) cluster.show(name, []);
    await pass(10_000);
    for (const name of names) cluster.pods.set(name, [pod(`a-${name}`)]);
    await pass(10_000);
    for (const name of names) cluster.show(name, [gpu]);
    await pass(PROMPT_MS);
    expect(cluster.evicted).toHaveLength(1);
    expect(cluster.lists).toHaveLength(3);
    await pass(10_000);
    expect(cluster.evicted).toHaveLength(2);
    await pass(10_000);
    expect(cluster.evicted.toSorted()).toEqual(['a-n1', 'a-n2', 'a-n3']);
  });

  it('waits for its turn where a node of the zone has just got a taint that evicts', async () => {
    const cluster = start(['n1', 'n2'], { spec: EVICT });
    await pass(10_000);
    cluster.show('n1', []);
    await pass(10_000);
    cluster.pods.set('n1', [pod('a')]);
    await pass(10_000);
    cluster.show('n2', [gpu, { key: 'down', effect: 'NoExecute', timeAdded: new Date().toISOString() }]);
    cluster.show('n1', [gpu]);
    await pass(PROMPT_MS);
    expect(cluster.said()).toHaveLength(3);
    expect(cluster.evicted).toEqual([]);
    await pass(11_000);
    expect(cluster.evicted).toEqual(['a']);
  });

  it('waits while a node of the zone is having its turn', async () => {
    const cluster = start(['n1'], { spec: EVICT });
    const end = cluster.turns.take('');
    await cluster.intrude('n1', () => pod('a'));
    await pass(60_000);
    expect(cluster.evicted).toEqual([]);
    end(false);
    await pass(10_000);
    expect(cluster.evicted).toEqual(['a']);
  });

  it.each([
    { what: 'says so no more', policies: { p: REPORT } },
    { what: 'is in mode Audit', policies: { p: { ...EVICT, mode: 'Audit' as const } } },
    { what: 'is deleted', policies: {} },
  ])('evicts no further pod of a node once the policy $what', async ({ policies }) => {
    const cluster = start(['n1'], { spec: EVICT });
    cluster.onEvicted.mockImplementationOnce(() => cluster.setPolicies(policies));
    await cluster.intrude(
      'n1',
      () => pod('a'),
      () => pod('b'),
      () => pod('c'),
    );
    await pass(120_000);
    expect(cluster.evicted).toEqual(['a']);
  });

  it('goes on with the pods of a node when another policy has changed meanwhile', async () => {
    const cluster = start(['n1'], { spec: EVICT });
    const another: TaintPolicySpec = { mode: 'Deny', taints: [{ key: 'another' }] };
    cluster.onEvicted.mockImplementationOnce(() => cluster.setPolicies({ p: EVICT, another }));
    await cluster.intrude(
      'n1',
      () => pod('a'),
      () => pod('b'),
    );
    expect(cluster.evicted).toEqual(['a', 'b']);
  });

  it.each<{ what: string; options: Options }>([
    { what: 'at a rate of 0', options: { rate: 0 } },
    { what: 'without the permission', options: { rights: ['listPods'] } },
    { what: 'in mode Audit', options: { spec: { ...EVICT, mode: 'Audit' } } },
    { what: 'with --audit', options: { audit: true } },
  ])('evicts nobody $what, and names them', async ({ options }) => {
    const cluster = start(['n1'], { spec: EVICT, ...options });
    await cluster.intrude('n1', () => pod('a'));
    await pass(120_000);
    expect(cluster.evicted).toEqual([]);
    expect(cluster.said()).toHaveLength(3);
  });
});
