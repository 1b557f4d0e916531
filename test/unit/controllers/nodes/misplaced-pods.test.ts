import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  type ApiClient,
  type RequestOptions,
  type ServerClock,
  serverClock,
} from '../../../../src/cluster/client/api-client.ts';
import type { ClusterNode } from '../../../../src/cluster/cluster-objects.ts';
import type { PolicyObject } from '../../../../src/cluster/policy-object.ts';
import type { Change, Entry } from '../../../../src/cluster/watch/cached-objects.ts';
import { startMisplacedPods } from '../../../../src/controllers/nodes/misplaced-pods.ts';
import { createReports } from '../../../../src/controllers/reports.ts';
import type { NodeRecord, RecordedTaint } from '../../../../src/judge/node-record.ts';
import type { RecordedEvent } from '../../../../src/kubernetes/event.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import type { OptionalRight } from '../../../../src/policy/asked-rights.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import { createSubject } from '../../../../src/runtime/source.ts';
import { captureLog } from '../../captured-log.ts';
import { recordedTaints, recordListing } from '../../judge/established.ts';
import { policySet } from '../../policy/policies.ts';
import { runOf } from '../run.ts';
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
const REQUIRED: TaintPolicySpec = {
  mode: 'Restore',
  taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' }],
};
const PROTECTED: TaintPolicySpec = { mode: 'Restore', taints: [{ key: 'dedicated', restrict: ['Removal'] }] };

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
  readonly rights?: readonly OptionalRight[];
  readonly predecessorAt?: number;
  /** Our own until a server has told. */
  readonly clock?: ServerClock;
  /** The policy; by default, it requires the taint, which then is in no record. */
  readonly spec?: TaintPolicySpec;
}

/** Nodes that are to carry the taint, and their pods. */
function start(names: readonly string[], options: Options = {}) {
  const { predecessorAt, clock = serverClock(), spec = REQUIRED } = options;
  const rights = new Set<OptionalRight>(options.rights ?? ['listPods']);
  const cluster = new Map<string, Entry<ClusterNode>>();
  const pods = new Map(names.map((name) => [name, [] as ReturnType<typeof pod>[]]));
  const writes: string[] = [];
  const lists: string[] = [];
  const events: RecordedEvent[] = [];
  const { log } = captureLog();
  const changes = createSubject<Change<ClusterNode>>();
  const rightChanges = createSubject();
  const records = new Map<string, NodeRecord>();
  const recordChanges = createSubject<string>();
  const reports = createReports();
  const stopping = new AbortController();
  const client: Pick<ApiClient, 'request' | 'now' | 'clockDisagreementMs'> = {
    now: clock.now,
    clockDisagreementMs: clock.disagreementMs,
    async request<T>(method: string, path: string, { query = {} }: RequestOptions = {}) {
      if (method === 'GET') {
        const name = String(query.fieldSelector).replace('spec.nodeName=', '');
        lists.push(name);
        const items = [...(pods.get(name) ?? [])];
        await onList();
        return { metadata: { resourceVersion: '1' }, items } as T;
      }
      writes.push(`${method} ${path}`);
      return {} as T;
    },
  };
  const compiled = policySet({ taint: { p: spec } });
  /** Holds the answer back that is made. */
  const onList = vi.fn(async () => {});
  const nodes = {
    get: (name: string) => cluster.get(name),
    entries: () => cluster.values(),
    changes,
    news: createSubject(),
  };
  const controller = startMisplacedPods(runOf(stopping, log), {
    client: client as ApiClient,
    nodes,
    nodeRecords: { recordOf: (name) => records.get(name), changes: recordChanges },
    policies: { snapshot: () => ({ policies: [], compiled, versions: new Set() }), changes: createSubject() },
    rights: { permits: (right) => rights.has(right), changes: rightChanges },
    predecessorAt,
    recordEvent: (event) => void events.push(event),
    reports,
  });
  onTestFinished(() => {
    stopping.abort();
    return controller.stop();
  });
  const show = (name: string, taints: readonly Taint[]) => {
    const entry = nodeEntry(name, taints);
    cluster.set(name, entry);
    changes.next({ type: 'added', entry });
  };
  for (const name of names) show(name, [gpu]);
  return {
    pods,
    writes,
    lists,
    show,
    /** The taint is lost, pods land ten seconds later, and ten seconds after that it is back. */
    async land(node: string, ...landing: readonly (() => ReturnType<typeof pod>)[]) {
      await pass(10_000);
      show(node, []);
      await pass(10_000);
      pods.get(node)?.push(...landing.map((make) => make()));
      await pass(10_000);
      show(node, [gpu]);
      await pass(PROMPT_MS);
    },
    onList,
    /** The leader writes the record of the node. */
    write(name: string, taints: readonly RecordedTaint[]) {
      records.set(name, { ...recordListing(undefined, `uid-${name}`), taints });
      recordChanges.next(name);
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
    condition: () => reports.conditions({ kind: 'TaintPolicy', name: 'p' } as PolicyObject).at(0),
    on: controller.misplacedPodsOn,
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
    await cluster.land(
      'n1',
      () => pod('a'),
      () => pod('b', { tolerations: [{ key: 'dedicated', operator: 'Exists' }] }),
    );
    expect(cluster.said()).toEqual([
      `Node n1 PodMisplaced: 1 pod landed while ${GPU} was missing: default/a, and do not tolerate it`,
      `TaintPolicy p PodMisplaced: Node n1: 1 pod landed while ${GPU} was missing: default/a`,
      `Pod a PodMisplaced: landed on Node n1 while ${GPU} was missing, and does not tolerate it`,
    ]);
    expect(cluster.condition()).toMatchObject({ status: 'True', reason: 'PodsLanded' });
    expect(cluster.on('n1')).toBe(`1 pod landed while ${GPU} was missing: default/a`);
    expect(cluster.writes).toEqual([]);
  });

  it('are reported once, and no longer counted after they were deleted', async () => {
    const cluster = start(['n1']);
    await cluster.land('n1', () => pod('a'));
    await pass(300_000);
    expect(cluster.said()).toHaveLength(3);
    cluster.pods.set('n1', []);
    await pass(600_000);
    expect(cluster.condition()).toBeUndefined();
    expect(cluster.on('n1')).toBeUndefined();
    const looks = cluster.lists.length;
    await pass(300_000);
    expect(cluster.lists).toHaveLength(looks);
  });

  it('are checked ever more rarely while they stay, and at once when another pod may have landed', async () => {
    const cluster = start(['n1']);
    await cluster.land('n1', () => pod('a'));
    await pass(24 * 3_600_000);
    const looks = cluster.lists.length;
    // Once a minute would be 1,440 times. Every ten minutes is 144, and twice as often where chance shortens each pause to its half.
    expect(looks).toBeLessThan(300);
    await cluster.land('n1', () => pod('b'));
    expect(cluster.lists.length).toBeGreaterThan(looks);
    expect(cluster.on('n1')).toContain('default/b');
    cluster.pods.set('n1', []);
    await pass(60_000);
    expect(cluster.condition()).toBeUndefined();
  });

  it('are none that landed before, by the clock of another API server', async () => {
    const AHEAD_MS = 5_000;
    const clock = serverClock();
    const cluster = start([], { clock });
    const hearBoth = () => {
      for (const aheadMs of [AHEAD_MS, 0]) clock.heard(new Date(Date.now() + aheadMs).toUTCString());
    };
    hearBoth();
    const landed = pod('a');
    const at = new Date(Date.now() + AHEAD_MS).toISOString();
    landed.status.conditions = [{ type: 'PodScheduled', status: 'True', lastTransitionTime: at }];
    cluster.pods.set('n1', [landed]);
    await pass(1_000);
    cluster.show('n1', [gpu]);
    await pass(60_000);
    hearBoth();
    await cluster.land('n1', () => pod('b'));
    expect(cluster.on('n1')).toBe(`1 pod landed while ${GPU} was missing: default/b`);
  });

  it('are not looked for without permission to list pods, until that is granted', async () => {
    const cluster = start(['n1'], { rights: [] });
    await cluster.land('n1', () => pod('a'));
    expect([cluster.lists, cluster.said(), cluster.condition()]).toEqual([[], [], undefined]);
    cluster.permit('listPods');
    await pass(PROMPT_MS);
    expect(cluster.said()).toHaveLength(3);
  });

  it.each([
    { what: 'required', spec: REQUIRED, before: [], after: recordedTaints(GPU, { removedAt: NOW }) },
    { what: 'recorded', spec: PROTECTED, before: recordedTaints(GPU), after: [] },
  ])('count no more once the $what taint is removed with permission', async ({ spec, before, after }) => {
    const cluster = start(['n1'], { spec });
    cluster.write('n1', before);
    await cluster.land('n1', () => pod('a'));
    cluster.show('n1', []);
    await pass(600_000);
    expect(cluster.condition()).toMatchObject({ status: 'True' });
    cluster.write('n1', after);
    await pass(600_000);
    expect(cluster.condition()).toBeUndefined();
  });

  it('are found where a record alone says that the node is to carry the taint', async () => {
    const cluster = start(['n1'], { spec: PROTECTED });
    cluster.write('n1', recordedTaints(GPU));
    await cluster.land('n1', () => pod('a'));
    expect(cluster.on('n1')).toBe(`1 pod landed while ${GPU} was missing: default/a`);
  });

  it.each([
    { what: 'required', spec: REQUIRED, after: recordedTaints(GPU, { removedAt: NOW }) },
    { what: 'recorded', spec: PROTECTED, after: [] },
  ])('are none where a $what taint was removed with permission, as its record says', async ({ spec, after }) => {
    const cluster = start(['n1'], { spec });
    if (spec === PROTECTED) cluster.write('n1', recordedTaints(GPU));
    await pass(10_000);
    cluster.show('n1', []);
    cluster.write('n1', after);
    await pass(10_000);
    cluster.pods.get('n1')?.push(pod('a'));
    await pass(10_000);
    cluster.show('n1', [gpu]);
    await pass(PROMPT_MS);
    expect(cluster.lists).toEqual([]);
  });

  it.each([
    { what: 'are reported if they landed while no replica led', predecessorAt: NOW - 120_000, found: 1 },
    { what: 'are not reported if no earlier leader is known', found: 0 },
    { what: 'are not reported if they landed while the earlier leader led', predecessorAt: NOW - 30_000, found: 0 },
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
    await cluster.land('n1');
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
    await cluster.land('n1', () => pod('a'));
    cluster.remove('n1');
    expect(cluster.condition()).toBeUndefined();
  });
});
