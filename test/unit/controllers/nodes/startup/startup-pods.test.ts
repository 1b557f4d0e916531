import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ClusterDaemonSet } from '../../../../../src/cluster/objects/cluster-objects.ts';
import type { Entry } from '../../../../../src/cluster/watch/cached-objects.ts';
import { perNode } from '../../../../../src/controllers/nodes/per-node.ts';
import { MAX_SHARED_PODS } from '../../../../../src/controllers/nodes/startup/daemon-set-pods.ts';
import { watchStartupPods } from '../../../../../src/controllers/nodes/startup/startup-pods.ts';
import { MAX_SINGLE_WATCHES } from '../../../../../src/controllers/nodes/startup/watches-by-node.ts';
import { stopClock } from '../../../stopped-clock.ts';
import { watchedObjects } from '../watched-objects.ts';

const CNI = { namespace: 'kube-system', name: 'cni' };
/** As many as can have watches of their own. */
const nodes = Array.from({ length: MAX_SINGLE_WATCHES }, (_, index) => `n${index}`);
const BY_DAEMON_SET = '/api/v1/namespaces/kube-system/pods?app=cni';

const pod = (node: string, ready = false, daemonSet = 'cni') => ({
  metadata: {
    namespace: 'kube-system',
    name: `${daemonSet}-${node}`,
    labels: { app: daemonSet },
    creationTimestamp: '2026-11-22T12:00:00Z',
    ownerReferences: [{ controller: true, kind: 'DaemonSet', name: daemonSet, uid: `${daemonSet}-uid` }],
  },
  spec: { nodeName: node },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
});

const daemonSetOf = (name: string, desired: number) =>
  ({
    namespace: 'kube-system',
    name,
    uid: `${name}-uid`,
    resourceVersion: '1',
    value: { podSelector: { matchLabels: { app: name } }, status: { desired } },
  }) as unknown as Entry<ClusterDaemonSet>;

/** @param desired the pods that the DaemonSet wants at first */
function start(desired = 0) {
  const api = watchedObjects();
  const onChange = vi.fn<(node?: string) => void>();
  const daemonSet = daemonSetOf('cni', desired);
  const daemonSets = new Map([daemonSet, daemonSetOf('huge', MAX_SHARED_PODS)].map((one) => [one.name, one]));
  const get = (name: string) => daemonSets.get(name);
  const kept = perNode();
  const pods = watchStartupPods(api.run, api.client, { get }, kept, onChange);
  /** One step of the node, each of whose taints waits for some DaemonSets. */
  const stepOf = (name: string, createdAt: number, taints: readonly (typeof CNI)[][]) => {
    const onNode = pods.beginStep({ name, createdAt });
    const found = taints.map((awaited) => onNode.read(awaited));
    onNode.endStep();
    return found;
  };
  const noLongerWaits = (name: string) => void stepOf(name, 0, []);
  const readyFor = (name: string, createdAt: number, taints: readonly (typeof CNI)[][]) =>
    stepOf(name, createdAt, taints).map((found) =>
      typeof found === 'string' ? found : found.value.map(({ isReady }) => isReady),
    );
  /** By default, the node is older than every watch. */
  const readyOn = (name: string, createdAt = 0, awaited = [CNI]) => readyFor(name, createdAt, [awaited])[0];
  /** Each taint waits for one DaemonSet. */
  const readyForTaints = (name: string, createdAt: number, daemonSets: readonly string[]) =>
    readyFor(
      name,
      createdAt,
      daemonSets.map((one) => [{ ...CNI, name: one }]),
    );
  return { api, onChange, kept, pods, daemonSet, daemonSets, readyOn, readyForTaints, noLongerWaits };
}

type Started = ReturnType<typeof start>;

describe('the pods of new nodes', () => {
  const LATER_MS = 60_000;

  it('cost no request for each node: the watch of their DaemonSet began before', async () => {
    const { api, onChange, pods, daemonSet, readyOn } = start();
    for (let index = 0; index < 200; index++) api.put(pod(`old-${index}`, true));
    pods.watchNew([daemonSet]);
    await expect.poll(api.watching).toBe(1);
    const createdAt = Date.now() + LATER_MS;
    expect(['n1', 'n2'].map((node) => readyOn(node, createdAt))).toEqual([[], []]);
    onChange.mockClear();
    api.put(pod('n1'));
    await expect.poll(() => onChange.mock.calls).toEqual([['n1']]);
    expect(readyOn('n1', createdAt)).toEqual([false]);
    api.put(pod('n1', true));
    await expect.poll(() => readyOn('n1', createdAt)).toEqual([true]);
    api.remove(pod('n1'));
    await expect.poll(() => readyOn('n1', createdAt)).toEqual([]);
    expect(api.requests).toEqual([`LIST ${BY_DAEMON_SET}`, `WATCH ${BY_DAEMON_SET}`]);
    await pods.stop();
  });

  it.each([
    { why: 'is older than the watch', createdAt: () => 0, names: true },
    { why: 'is as old as the watch: some of its pods may be older', createdAt: Date.now, names: true },
    { why: 'waits for a DaemonSet that no policy named before', createdAt: () => Date.now() + LATER_MS, names: false },
  ])('are watched for the node alone if it $why', async ({ createdAt, names }) => {
    const { api, pods, daemonSet, readyOn } = start();
    api.put(pod('n1', true));
    pods.watchNew(names ? [daemonSet] : []);
    await expect.poll(api.watching).toBe(names ? 1 : 0);
    const created = createdAt();
    await expect.poll(() => readyOn('n1', created)).toEqual([true]);
    expect(api.requests.at(-1)).toBe('STREAM /api/v1/pods?spec.nodeName=n1');
    await pods.stop();
  });

  it('may be older than the Node if a Node of that name was deleted lately: they are watched for the node alone', async () => {
    const { api, kept, pods, daemonSet, readyOn } = start();
    api.put(pod('n1', true));
    pods.watchNew([daemonSet]);
    await expect.poll(api.watching).toBe(1);
    const createdAt = Date.now() + LATER_MS;
    expect(readyOn('n1', createdAt)).toEqual([]);
    kept.forget('n1');
    await expect.poll(() => readyOn('n1', createdAt)).toEqual([true]);
    expect(readyOn('n2', createdAt)).toEqual([]);
    await pods.stop();
  });

  it('are known again of the names of nodes that were deleted minutes ago', async () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(0);
    onTestFinished(() => now.mockRestore());
    const { api, kept, pods, daemonSet, readyOn } = start();
    for (const node of ['n1', 'n2']) api.put(pod(node, true));
    pods.watchNew([daemonSet]);
    await expect.poll(api.watching).toBe(1);
    const createdAt = Date.now() + LATER_MS;
    for (const node of ['n1', 'n2']) kept.forget(node);
    await expect.poll(() => readyOn('n1', createdAt)).toEqual([true]);
    now.mockReturnValue(300_000);
    // One that waits since then keeps its watch.
    expect(['n1', 'n2'].map((node) => readyOn(node, createdAt))).toEqual([[true], []]);
    await pods.stop();
  });

  it('are listed after half a minute without one: an API server whose clock is behind made an older node count as new', async () => {
    stopClock();
    const { api, onChange, pods, daemonSet, readyOn } = start();
    const createdAt = Date.now() - 30_000;
    api.put(pod('n1', true));
    api.setBehind(60_000);
    pods.watchNew([daemonSet]);
    await vi.advanceTimersByTimeAsync(0);
    expect(readyOn('n1', createdAt)).toEqual([]);
    onChange.mockClear();
    await vi.advanceTimersByTimeAsync(29_000);
    expect([onChange.mock.calls, readyOn('n1', createdAt)]).toEqual([[], []]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(onChange.mock.calls).toEqual([['n1']]);
    expect(readyOn('n1', createdAt)).toBe('Unread');
    await vi.advanceTimersByTimeAsync(0);
    expect(readyOn('n1', createdAt)).toEqual([true]);
    expect(api.requests.at(-1)).toBe('STREAM /api/v1/pods?spec.nodeName=n1');
    await pods.stop();
  });

  it('are listed also if only those of one of its DaemonSets are missing', async () => {
    stopClock();
    const { api, onChange, pods, daemonSet, daemonSets, readyOn, noLongerWaits } = start();
    const agent = daemonSetOf('agent', 0);
    daemonSets.set('agent', agent);
    const createdAt = Date.now() + LATER_MS;
    const awaited = [CNI, { ...CNI, name: 'agent' }];
    pods.watchNew([daemonSet, agent]);
    await vi.advanceTimersByTimeAsync(0);
    expect(['n1', 'n2'].map((node) => readyOn(node, createdAt, awaited))).toEqual([[], []]);
    api.put(pod('n1', true));
    await vi.advanceTimersByTimeAsync(0);
    expect(readyOn('n1', createdAt, awaited)).toEqual([true]);
    // It no longer waits.
    noLongerWaits('n2');
    onChange.mockClear();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(onChange.mock.calls).toEqual([['n1']]);
    await pods.stop();
  });

  it('are listed also if another taint of the node waits for a DaemonSet whose pod is known', async () => {
    stopClock();
    const { api, pods, daemonSet, daemonSets, readyForTaints } = start();
    const agent = daemonSetOf('agent', 0);
    daemonSets.set('agent', agent);
    const createdAt = Date.now() + LATER_MS;
    const step = () => readyForTaints('n1', createdAt, ['agent', 'cni']);
    api.put(pod('n1', true));
    pods.watchNew([daemonSet, agent]);
    await vi.advanceTimersByTimeAsync(0);
    api.put(pod('n1', false, 'agent'));
    await vi.advanceTimersByTimeAsync(20_000);
    expect(step()).toEqual([[false], []]);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(step()).toEqual([[false], []]);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(step()).toEqual([[false], 'Unread']);
    await vi.advanceTimersByTimeAsync(0);
    expect(step()[1]).toContain(true);
    await pods.stop();
  });

  it('are no longer watched once no policy names the DaemonSet', async () => {
    const { api, pods, daemonSet, readyOn } = start();
    pods.watchNew([daemonSet]);
    await expect.poll(api.watching).toBe(1);
    pods.watchNew([]);
    await expect.poll(api.watching).toBe(0);
    expect(readyOn('n1', Date.now() + LATER_MS)).toBe('Unread');
    await pods.stop();
  });
});

describe('the pods of nodes that wait', () => {
  it('are watched by their node, whatever the number of other nodes', async () => {
    const { api, onChange, pods, readyOn, noLongerWaits } = start();
    for (const node of ['n1', 'n2', 'n3']) api.put(pod(node));
    expect(readyOn('n1')).toBe('Unread');
    await expect.poll(() => onChange.mock.calls).toEqual([['n1']]);
    expect(readyOn('n1')).toEqual([false]);
    api.put(pod('n2', true));
    api.put(pod('n1', true));
    await expect.poll(() => onChange.mock.calls).toEqual([['n1'], ['n1']]);
    expect(readyOn('n1')).toEqual([true]);
    expect(api.requests).toEqual(['STREAM /api/v1/pods?spec.nodeName=n1']);
    noLongerWaits('n1');
    await expect.poll(api.watching).toBe(0);
    await pods.stop();
  });

  it('are watched by their DaemonSets for the nodes that are too many, until these no longer wait', async () => {
    const { api, onChange, pods, readyOn, noLongerWaits } = start();
    for (const node of ['n0', 'late', 'later']) api.put(pod(node));
    for (const node of nodes) readyOn(node);
    expect(readyOn('late')).toBe('Unread');
    // All nodes are asked about again: the watch is of them all.
    await expect.poll(() => onChange.mock.calls).toContainEqual([]);
    expect([readyOn('late'), readyOn('later')]).toEqual([[false], [false]]);
    expect(api.requests.filter((one) => one === `LIST ${BY_DAEMON_SET}`)).toHaveLength(1);
    api.put(pod('later', true));
    await expect.poll(() => readyOn('later')).toEqual([true]);
    noLongerWaits('late');
    noLongerWaits('later');
    await expect.poll(api.watching).toBe(MAX_SINGLE_WATCHES);
    await pods.stop();
    expect(api.watching()).toBe(0);
  });

  it.each([
    { pods: MAX_SHARED_PODS, lists: 1 },
    { pods: MAX_SHARED_PODS + 1, lists: 0 },
  ])(
    'share watches of their DaemonSets for at most 64,000 pods: $pods pods take $lists',
    async ({ pods: count, lists }) => {
      const { api, pods, readyOn } = start(count);
      for (const node of nodes) readyOn(node);
      expect(readyOn('late')).toBe('Unread');
      await expect.poll(api.watching).toBe(MAX_SINGLE_WATCHES + lists);
      expect(api.requests.filter((one) => one === `LIST ${BY_DAEMON_SET}`)).toHaveLength(lists);
      await pods.stop();
    },
  );

  it.each([
    {
      what: 'it wants more pods now',
      changes: [],
      grow: ({ daemonSets }: Started) => daemonSets.set('cni', daemonSetOf('cni', 2)),
    },
    {
      what: 'more pods are kept than it wants',
      changes: [['a'], ['b']],
      grow: ({ api }: Started) => ['a', 'b'].map((node) => api.put(pod(node))),
    },
  ])(
    'share watches of their DaemonSets for at most 64,000 pods, also of a DaemonSet that grows: $what',
    async (one) => {
      const started = start(0);
      const { onChange, pods, readyOn, noLongerWaits } = started;
      for (const node of nodes) readyOn(node);
      await expect.poll(() => readyOn('late')).toEqual([]);
      onChange.mockClear();
      one.grow(started);
      await expect.poll(() => onChange.mock.calls).toEqual(expect.arrayContaining(one.changes));
      readyOn('later', 0, [CNI, { ...CNI, name: 'huge' }]);
      // It is queued, and shares no watches.
      noLongerWaits('n0');
      expect(onChange.mock.calls.at(-1)).toEqual(['later']);
      await pods.stop();
    },
  );

  it('are watched in turn if there are too many: the next node gets the place of one that no longer waits', async () => {
    const { api, onChange, pods, readyOn, noLongerWaits } = start(MAX_SHARED_PODS + 1);
    for (const node of ['late', 'later', 'latest']) api.put(pod(node, true));
    for (const node of nodes) readyOn(node);
    const names = ['late', 'later', 'latest'];
    expect(names.map((node) => readyOn(node))).toEqual(names.map(() => 'Unread'));
    await expect.poll(api.watching).toBe(MAX_SINGLE_WATCHES);
    onChange.mockClear();
    // A node that has no watch gives no place.
    noLongerWaits('other');
    noLongerWaits('late');
    expect(onChange).not.toHaveBeenCalled();
    noLongerWaits('n0');
    expect(onChange.mock.calls).toEqual([['later']]);
    expect(['latest', 'later'].map((node) => readyOn(node))).toEqual(['Unread', 'Unread']);
    await expect.poll(() => readyOn('later')).toEqual([true]);
    await pods.stop();
  });

  it('are watched in turn: a node that shared watches takes a free place if it waits for more than can be shared', async () => {
    const { api, pods, readyOn, noLongerWaits } = start(1);
    api.put(pod('late', true));
    for (const node of nodes) readyOn(node);
    await expect.poll(() => readyOn('late')).toEqual([true]);
    for (const node of nodes) noLongerWaits(node);
    await expect.poll(() => readyOn('late', 0, [CNI, { ...CNI, name: 'huge' }])).toEqual([true]);
    // Nothing is shared any more.
    await expect.poll(api.watching).toBe(1);
    await pods.stop();
  });

  it.each([
    { order: ['cni', 'huge'], what: 'the pods of its first taint' },
    { order: ['huge', 'cni'], what: 'the pods of its last taint' },
  ])('are watched in turn, also for a node that knows $what already', async ({ order }) => {
    const { api, onChange, pods, daemonSet, daemonSets, readyOn, readyForTaints, noLongerWaits } = start();
    daemonSets.set('huge', daemonSetOf('huge', MAX_SHARED_PODS + 1));
    pods.watchNew([daemonSet]);
    await expect.poll(api.watching).toBe(1);
    for (const node of nodes) readyOn(node);
    const createdAt = Date.now() + 60_000;
    const step = (node: string) => readyForTaints(node, createdAt, order).filter((found) => found === 'Unread').length;
    expect([step('late'), step('later')]).toEqual([1, 1]);
    await expect.poll(api.watching).toBe(1 + MAX_SINGLE_WATCHES);
    onChange.mockClear();
    // A step of a node that is queued wakes no other one.
    expect([step('late'), step('later')]).toEqual([1, 1]);
    expect(onChange).not.toHaveBeenCalled();
    noLongerWaits('n0');
    expect(onChange.mock.calls).toEqual([['late']]);
    expect(step('later')).toBe(1);
    await expect.poll(() => step('late')).toBe(0);
    expect(api.requests.at(-1)).toBe('STREAM /api/v1/pods?spec.nodeName=late');
    await pods.stop();
  });

  it('share no watch for a node one of whose taints waits for more than can be shared', async () => {
    const { api, pods, daemonSets, readyOn, readyForTaints } = start();
    daemonSets.set('huge', daemonSetOf('huge', MAX_SHARED_PODS + 1));
    for (const node of nodes) readyOn(node);
    await expect.poll(api.watching).toBe(MAX_SINGLE_WATCHES);
    const before = api.requests.length;
    for (const order of [
      ['cni', 'huge'],
      ['huge', 'cni'],
      ['cni', 'huge'],
    ])
      readyForTaints('late', 0, order);
    await expect.poll(api.watching).toBe(MAX_SINGLE_WATCHES);
    // The first taint of the first step did not know of the other one.
    expect(api.requests.slice(before).filter((one) => one.startsWith('LIST'))).toEqual([`LIST ${BY_DAEMON_SET}`]);
    await pods.stop();
  });

  it.each<{ why: string; leave: (started: Started) => void }>([
    { why: 'no longer waits', leave: ({ noLongerWaits }) => noLongerWaits('late') },
    {
      why: 'is new, and its DaemonSet is watched',
      leave: ({ readyOn }) => expect(readyOn('late', Date.now() + 60_000)).toEqual([]),
    },
  ])('are watched in turn: the place of a node that $why before it has taken it is for the next one', async (one) => {
    const started = start(MAX_SHARED_PODS + 1);
    const { api, onChange, pods, daemonSet, readyOn, noLongerWaits } = started;
    pods.watchNew([daemonSet]);
    await expect.poll(api.watching).toBe(1);
    for (const node of nodes) readyOn(node);
    expect([readyOn('late'), readyOn('later')]).toEqual(['Unread', 'Unread']);
    await expect.poll(api.watching).toBe(1 + MAX_SINGLE_WATCHES);
    onChange.mockClear();
    noLongerWaits('n0');
    expect(onChange.mock.calls).toEqual([['late']]);
    one.leave(started);
    expect(onChange.mock.calls).toEqual([['late'], ['later']]);
    await expect.poll(() => readyOn('later')).toEqual([]);
    await pods.stop();
  });

  it('are watched in turn: after half a minute, a node whose pods were read ends its watch for one that is queued', async () => {
    stopClock();
    const { api, onChange, pods, readyOn } = start(MAX_SHARED_PODS + 1);
    for (const node of nodes) readyOn(node);
    const asked = () => onChange.mock.calls.splice(0).map(([node]) => node);
    await vi.advanceTimersByTimeAsync(60_000);
    asked();
    // No node is queued.
    expect(readyOn('n0')).toEqual([]);
    expect(readyOn('late')).toBe('Unread');
    await vi.advanceTimersByTimeAsync(11_000);
    expect(asked()).toEqual(['late']);
    expect(readyOn('n0')).toBe('Unread');
    expect(readyOn('late')).toBe('Unread');
    await vi.advanceTimersByTimeAsync(0);
    expect([readyOn('late'), readyOn('n1')]).toEqual([[], []]);
    // The next turn is its own again.
    await vi.advanceTimersByTimeAsync(11_000);
    expect(asked()).toContain('n0');
    expect([readyOn('n0'), readyOn('n1'), readyOn('late')]).toEqual(['Unread', 'Unread', []]);
    expect(api.watching()).toBe(MAX_SINGLE_WATCHES);
    await pods.stop();
  });

  it('are watched in turn: a node keeps its watch until its pods were read', async () => {
    stopClock();
    const { api, pods, readyOn } = start(MAX_SHARED_PODS + 1);
    api.refuse(500);
    for (const node of nodes) readyOn(node);
    readyOn('late');
    await vi.advanceTimersByTimeAsync(60_000);
    api.refuse(undefined);
    await vi.advanceTimersByTimeAsync(15_000);
    expect([readyOn('n0'), readyOn('late')]).toEqual([[], 'Unread']);
    await pods.stop();
  });

  it('are refused also to the nodes that share the watches of their DaemonSets', async () => {
    const { api, onChange, pods, readyOn } = start();
    for (const node of nodes) readyOn(node);
    await expect.poll(api.watching).toBe(MAX_SINGLE_WATCHES);
    api.refuse(403);
    expect(readyOn('late')).toBe('Unread');
    await expect.poll(() => onChange.mock.calls).toContainEqual([]);
    expect(readyOn('late')).toBe('NotPermitted');
    api.refuse(undefined);
    await expect.poll(() => readyOn('late')).toEqual([]);
    await pods.stop();
  });

  it('of a name that no Node has are not asked for: it could change the selector', async () => {
    const { api, pods, readyOn } = start();
    expect(() => readyOn('n1,metadata.name!=x')).toThrow('it is no name of a node');
    expect(api.requests).toEqual([]);
    await pods.stop();
  });
});
