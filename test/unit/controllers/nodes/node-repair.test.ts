import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import { type ClusterDaemonSet, projectDaemonSet } from '../../../../src/cluster/objects/cluster-objects.ts';
import type { Change } from '../../../../src/cluster/watch/cached-objects.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import { createSubject } from '../../../../src/runtime/source.ts';
import { rule } from '../../judge/node-drifts.ts';
import { nodeEntry } from './node-entries.ts';
import { NO_DAEMON_SETS, startRepair } from './repaired-nodes.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const SWEEP_MS = 600_000;
const GPU = 'dedicated=gpu:NoSchedule';
const gpu: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const other: Taint = { key: 'other', effect: 'NoSchedule' };
const PRESENT = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' } as const;
const restore = { p: rule('Restore', PRESENT) };
const watching = { p: rule('Audit', PRESENT) };

const bare = (count: number) => Array.from({ length: count }, (_, index) => nodeEntry(`n${index}`));

type Repair = ReturnType<typeof startRepair>;

/** What is under way ends. */
const settle = () => vi.advanceTimersByTimeAsync(1);

async function untilNextWrite(writes: Repair['writes'], stepMs: number): Promise<void> {
  const before = writes.length;
  while (writes.length === before) await vi.advanceTimersByTimeAsync(stepMs);
}

describe('the leader checks all nodes', () => {
  it('at the beginning: what they lack is written, and no more than that', async () => {
    const { writes, said, metric } = startRepair(restore, [nodeEntry('n1', [other]), nodeEntry('n2', [gpu])]);
    await settle();
    expect(writes).toEqual([
      {
        name: 'n1',
        patch: { metadata: { uid: 'uid-n1', resourceVersion: '1', annotations: {} }, spec: { taints: [other, gpu] } },
      },
    ]);
    expect(said()).toEqual(['n1 TaintAdded']);
    expect(await metric('taintkeeper_repairs_total')).toContain('{kind="Node",policy="p"} 1');
  });

  it('not before all of them are known', async () => {
    const synced = Promise.withResolvers<void>();
    const { writes } = startRepair(restore, bare(1), { nodesSynced: synced.promise });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(writes).toEqual([]);
    synced.resolve();
    await settle();
    expect(writes).toHaveLength(1);
  });

  it('when the policies change, and now and then', async () => {
    const { cluster, writes, setPolicies, metric } = startRepair({}, bare(300));
    await settle();
    setPolicies(restore);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(writes).toHaveLength(300);

    cluster.set('unheard-of', nodeEntry('unheard-of'));
    await vi.advanceTimersByTimeAsync(SWEEP_MS + 10);
    expect(writes.slice(300)).toMatchObject([{ name: 'unheard-of' }]);
    expect(await metric('taintkeeper_sweep_timestamp_seconds')).toContain(`{controller="node-repair"} `);
  });
});

it.each([
  { what: 'a heartbeat', event: ({ beat }: Repair) => beat('n1') },
  {
    what: 'a change that leaves the node as it should be',
    event: ({ change }: Repair) => change('n1', { labels: {} }),
  },
])('$what gives no worker anything to do', async ({ event }) => {
  const running = startRepair(restore, [nodeEntry('n1', [gpu])]);
  await settle();
  const runs = async () =>
    /\{controller="node-repair",result="ok"\} (\d+)/.exec(
      await running.metric('taintkeeper_reconciliations_total'),
    )?.[1];
  expect(await runs()).toBeUndefined();
  event(running);
  await settle();
  expect(await runs()).toBeUndefined();
  running.change('n1', { taints: [] });
  await settle();
  expect(await runs()).toBeDefined();
});

it('a node that becomes right during its repair is checked again, so that a later loss is reported', async () => {
  const audited = { q: rule('Audit', { key: 'other', effect: 'NoSchedule', ensure: 'Always' }) };
  const { mutation, change, said } = startRepair({ ...restore, ...audited }, bare(1));
  // The API server stores the other taint as well.
  mutation.mockImplementationOnce((taints) => [...taints, other]);
  await settle();
  const missing = () => said().filter((one) => one === 'n0 TaintMissing').length;
  expect(missing()).toBe(1);
  change('n0', { taints: [gpu] });
  await settle();
  expect(missing()).toBe(2);
});

describe('a write', () => {
  it('is judged again after a conflict with another writer, also if the watch shows no further change', async () => {
    const { cluster, writes, beforeWrite, taintsOf, messages } = startRepair(restore, bare(1));
    beforeWrite.mockImplementationOnce((name) => {
      cluster.set(name, { ...nodeEntry(name, [other]), resourceVersion: '7' });
    });
    await vi.advanceTimersByTimeAsync(499);
    expect(writes).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(2);
    expect(writes.map(({ patch }) => patch.metadata.resourceVersion)).toEqual(['1', '7']);
    expect(taintsOf('n0')).toEqual([other, gpu]);
    expect(messages()).toEqual([`set taint ${GPU} on Node n0`]);
  });

  it('is not repeated after a conflict before the watch shows what the other writer wrote', async () => {
    const { repair, cluster, writes, beforeWrite, taintsOf } = startRepair(restore, bare(1));
    beforeWrite.mockImplementationOnce(() => {
      throw new ApiError('PATCH', '', 409, 'Conflict', '');
    });
    await settle();
    repair.policiesChanged();
    await vi.advanceTimersByTimeAsync(4_900);
    expect(writes).toHaveLength(1);
    cluster.set('n0', { ...nodeEntry('n0', [other]), resourceVersion: '7' });
    repair.nodeChanged('n0');
    await settle();
    expect(writes).toHaveLength(2);
    expect(taintsOf('n0')).toEqual([other, gpu]);
  });

  it('is repeated after five seconds where the watch shows nothing newer: another webhook may have answered 409', async () => {
    const { writes, beforeWrite, taintsOf } = startRepair(restore, bare(1));
    beforeWrite.mockImplementationOnce(() => {
      throw new ApiError('PATCH', '', 409, 'Conflict', '');
    });
    await vi.advanceTimersByTimeAsync(5_600);
    expect(writes).toHaveLength(2);
    expect(taintsOf('n0')).toEqual([gpu]);
  });

  it('is repeated when all that the watch has to tell is a heartbeat', async () => {
    const { beat, writes, beforeWrite } = startRepair(restore, bare(1));
    beforeWrite.mockImplementationOnce(() => {
      throw new ApiError('PATCH', '', 409, 'Conflict', '');
    });
    await vi.advanceTimersByTimeAsync(4_000);
    expect(writes).toHaveLength(1);
    beat('n0');
    await settle();
    expect(writes).toHaveLength(2);
  });

  it('is not reported as a repair if the node was deleted meanwhile', async () => {
    const { writes, beforeWrite, remove, said, messages } = startRepair(restore, bare(1));
    beforeWrite.mockImplementationOnce(remove);
    await vi.advanceTimersByTimeAsync(SWEEP_MS);
    expect(writes).toHaveLength(1);
    expect([...messages(), ...said()]).toEqual([]);
  });

  it('that fails is repeated, and said to fail', async () => {
    const { writes, beforeWrite, taintsOf, messages, metric } = startRepair(restore, bare(1));
    beforeWrite.mockImplementationOnce(() => {
      throw new Error('no answer');
    });
    await vi.advanceTimersByTimeAsync(200);
    expect(writes).toHaveLength(2);
    expect(taintsOf('n0')).toEqual([gpu]);
    expect(messages()).toEqual([
      'node-repair: n0: no answer',
      `set taint ${GPU} on Node n0`,
      'node-repair: it works again',
    ]);
    expect(await metric('taintkeeper_reconciliations_total')).toContain('{controller="node-repair",result="error"} 1');
  });

  it.each([
    { status: 500, said: 'etcdserver: request is too large' },
    {
      status: 500,
      said: 'rpc error: code = ResourceExhausted desc = trying to send message larger than max (2097201 vs. 2097152)',
    },
    { status: 413, said: 'Request entity too large: limit is 3145728' },
  ])(
    'of a Node that is too large for etcd names the cause in the status of the policy: $said',
    async ({ status, said }) => {
      const { repair, beforeWrite } = startRepair(restore, bare(1));
      beforeWrite.mockImplementation((name) => {
        throw new ApiError('PATCH', name, status, '', said);
      });
      await settle();

      expect(repair.problems()).toMatchObject([{ policy: 'p', reason: 'RepairRefused' }]);
      expect(repair.problems()[0]?.message).toContain(
        `node n0 is too large to be stored, so it gets no taint. Find what fills it, and remove that: kubectl get node n0 -o json (PATCH n0: ${status}: ${said})`,
      );
    },
  );

  it('that the API server refuses is in the status of the policy until it passes, or no policy requires it', async () => {
    const { repair, change, beforeWrite, setPolicies, onProblems } = startRepair(restore, bare(3));
    beforeWrite.mockImplementation((name) => {
      throw new ApiError('PATCH', name, 403, 'Forbidden', 'no patch of nodes');
    });
    await settle();
    const refusal = (name: string) => `${name}: 403 Forbidden: no patch of nodes`;
    expect(repair.problems()).toMatchObject([
      {
        kind: 'TaintPolicy',
        policy: 'p',
        reason: 'RepairRefused',
        message: expect.stringContaining(`PATCH ${refusal('n0')}, PATCH ${refusal('n1')}, PATCH ${refusal('n2')}`),
      },
    ]);
    change('n0', { taints: [gpu] });
    await vi.advanceTimersByTimeAsync(30_000);
    expect(repair.problems()).toMatchObject([{ message: expect.not.stringContaining('n0') }]);
    const before = onProblems.mock.calls.length;
    setPolicies({});
    await vi.advanceTimersByTimeAsync(30_000);
    expect(repair.problems()).toEqual([]);
    expect(onProblems.mock.calls.length).toBeGreaterThan(before);
  });

  it('that the API server refuses is tried again at once when a policy changes, whatever the pause after many failures', async () => {
    const { writes, beforeWrite, setPolicies, taintsOf } = startRepair(restore, bare(1));
    beforeWrite.mockImplementation((name) => {
      throw new ApiError('PATCH', name, 403, 'Forbidden', 'no patch of nodes');
    });
    await vi.advanceTimersByTimeAsync(120_000);
    // From the failure on, the next pause is 15 s at least.
    await untilNextWrite(writes, 100);
    beforeWrite.mockReset();
    setPolicies({ ...restore, q: rule('Audit', PRESENT) });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(taintsOf('n0')).toEqual([gpu]);
  });

  const denied = (name: string) => {
    if (name.startsWith('n')) throw new ApiError('PATCH', name, 403, 'Forbidden', 'denied by another plugin');
  };

  describe('that another admission plugin refuses for many nodes', () => {
    it('does not delay the writes of other nodes', async () => {
      const { beforeWrite, change, taintsOf } = startRepair(restore, [...bare(2_500), nodeEntry('other', [gpu])]);
      beforeWrite.mockImplementation(denied);
      // By then, each node was refused at least once.
      await vi.advanceTimersByTimeAsync(30_000);
      change('other', { taints: [] });
      await vi.advanceTimersByTimeAsync(500);
      expect(taintsOf('other')).toEqual([gpu]);
    });

    it('is repeated every few minutes, for each of them', async () => {
      const { beforeWrite, writes } = startRepair(restore, bare(50));
      beforeWrite.mockImplementation(denied);
      await vi.advanceTimersByTimeAsync(1_200_000);
      writes.splice(0);
      await vi.advanceTimersByTimeAsync(600_000);
      expect(writes.length).toBeGreaterThanOrEqual(50);
      expect(writes.length).toBeLessThanOrEqual(250);
    });

    it('is repeated soon after the node has changed', async () => {
      const { beforeWrite, change, writes, taintsOf } = startRepair(restore, bare(1));
      beforeWrite.mockImplementation(denied);
      await vi.advanceTimersByTimeAsync(1_200_000);
      // From the failure on, the next pause is 150 s at least.
      await untilNextWrite(writes, 1_000);
      beforeWrite.mockReset();
      change('n0', { labels: { 'other-plugin': 'allows' } });
      await vi.advanceTimersByTimeAsync(1_000);
      expect(taintsOf('n0')).toEqual([gpu]);
    });
  });

  it('that the API server refuses is tried again soon after a DaemonSet has changed that the node waits for', async () => {
    const changes = createSubject<Change<ClusterDaemonSet>>();
    const daemonSets = { ...NO_DAEMON_SETS, changes };
    const readyWhen = { daemonSets: [{ namespace: 'kube-system', name: 'cni' }] };
    const { beforeWrite, writes, taintsOf } = startRepair(
      { ...restore, q: rule('Restore', { ...network, ensure: 'UntilReady', readyWhen }) },
      [nodeEntry('n0', [network])],
      { daemonSets },
    );
    beforeWrite.mockImplementation(denied);
    await vi.advanceTimersByTimeAsync(1_200_000);
    // From the failure on, the next pause is 150 s at least.
    await untilNextWrite(writes, 1_000);
    beforeWrite.mockReset();
    const id = { namespace: 'kube-system', name: 'cni', uid: 'u', resourceVersion: '1' };
    const value = projectDaemonSet({ metadata: id, spec: { selector: {}, template: { metadata: {}, spec: {} } } });
    changes.next({ type: 'added', entry: { ...id, value } });
    await vi.advanceTimersByTimeAsync(1_200);
    expect(taintsOf('n0')).toEqual([network, gpu]);
  });

  it('of a new Node is made at once, whatever the pause after many failures with the deleted Node of its name', async () => {
    const { writes, beforeWrite, remove, change, taintsOf } = startRepair(restore, bare(1));
    beforeWrite.mockImplementation(() => {
      throw new Error('no answer');
    });
    await vi.advanceTimersByTimeAsync(120_000);
    // From the failure on, the next pause is 15 s at least.
    await untilNextWrite(writes, 100);
    await vi.advanceTimersByTimeAsync(200);
    beforeWrite.mockReset();
    remove('n0');
    change('n0', {});
    await settle();
    expect(taintsOf('n0')).toEqual([gpu]);
  });

  it('that is refused is no problem any more once the Node is deleted', async () => {
    const { beforeWrite, remove, repair, onProblems } = startRepair(restore, bare(1));
    beforeWrite.mockImplementation(denied);
    await settle();
    expect(repair.problems()).toMatchObject([{ reason: 'RepairRefused' }]);
    onProblems.mockClear();
    remove('n0');
    expect(repair.problems()).toEqual([]);
    expect(onProblems).toHaveBeenCalledTimes(1);
  });

  it('waits for its turn, so that the API server can serve others: a hundred at once, and a hundred a second', async () => {
    const { writes } = startRepair(restore, bare(250));
    await vi.advanceTimersByTimeAsync(2);
    expect(writes).toHaveLength(100);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(writes.length).toBeGreaterThan(190);
    expect(writes.length).toBeLessThanOrEqual(200);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(writes).toHaveLength(250);
  });

  it('that waits for its turn is not made once it is to stop', async () => {
    const { repair, writes, messages, metric } = startRepair(restore, bare(150));
    await settle();
    expect(await metric('taintkeeper_queue_depth')).toMatch(/\{controller="node-repair"\} \d+/);
    await repair.stop();
    expect(await metric('taintkeeper_queue_depth')).not.toContain('node-repair');
    await vi.advanceTimersByTimeAsync(SWEEP_MS);
    expect(writes).toHaveLength(100);
    expect(messages()).toHaveLength(100);
  });
});

describe('what is not put back', () => {
  it('is reported once, and again after the taint was added and removed', async () => {
    const { writes, change, said, messages } = startRepair(watching, bare(2));
    for (let times = 0; times < 3; times++) {
      change('n0', { labels: { times: String(times) } });
      await settle();
    }
    expect(said()).toEqual(['n0 TaintMissing', 'n1 TaintMissing']);
    // Of many at once, Events are left out; the log has all.
    expect(messages()).toEqual([
      expect.stringMatching(/^Node n0: TaintPolicy \S+ reports missing taint \S+: mode Audit does not set it$/),
      expect.stringMatching(/^Node n1: /),
    ]);
    for (const taints of [[gpu], []]) {
      change('n0', { taints });
      await settle();
    }
    expect(said().slice(2)).toEqual(['n0 TaintMissing']);
    expect(writes).toEqual([]);
  });

  it('is told again when a policy comes back that was gone', async () => {
    const { setPolicies, said } = startRepair(watching, bare(1));
    for (const policies of [{}, watching]) {
      await settle();
      setPolicies(policies);
    }
    await settle();
    expect(said()).toEqual(['n0 TaintMissing', 'n0 TaintMissing']);
  });

  it('is told of a new node of that name also where the watch shows both at once', async () => {
    const { remove, change, said } = startRepair(watching, bare(1));
    await settle();
    remove('n0');
    change('n0', {});
    await settle();
    expect(said()).toEqual(['n0 TaintMissing', 'n0 TaintMissing']);
  });

  it('is told of a new node of that name, too', async () => {
    const { remove, change, said } = startRepair(watching, bare(1));
    await settle();
    remove('n0');
    await settle();
    change('n0', {});
    await settle();
    expect(said()).toEqual(['n0 TaintMissing', 'n0 TaintMissing']);
  });

  it('with --audit is everything: nothing is written, whatever the policies say', async () => {
    const { writes, change, said } = startRepair(restore, bare(1), { audit: true });
    await settle();
    change('n0', { allowRemoval: GPU });
    await vi.advanceTimersByTimeAsync(SWEEP_MS);
    expect(writes).toEqual([]);
    expect(said()).toEqual(['n0 TaintMissing']);
  });
});

describe('a taint that another writer removes repeatedly', () => {
  /** A node that has carried the taint, and loses it every minute: times are those of the repairs, in minutes. */
  function startConflict() {
    const { beforeWrite, writes, change, taintsOf, ...repairs } = startRepair(restore, [nodeEntry('n0', [gpu])]);
    const start = performance.now() / 60_000;
    const times: number[] = [];
    beforeWrite.mockImplementation(() => {
      if (writes.at(-1)?.patch.spec) times.push(performance.now() / 60_000 - start);
    });
    return {
      ...repairs,
      times,
      async takeAway(minutes: number) {
        for (let minute = 0; minute < minutes; minute++) {
          await vi.advanceTimersByTimeAsync(60_000);
          if (taintsOf('n0')?.length) change('n0', { taints: [] });
        }
        await settle();
      },
    };
  }

  it('is put back three times, and then left to them, which node, policy and status say', async () => {
    const { takeAway, times, said, repair, onProblems } = startConflict();
    await takeAway(10);
    expect(times).toEqual([1, 2, 3]);
    expect(said()).toEqual([...Array(3).fill('n0 TaintAdded'), 'n0 TaintConflict']);
    expect(repair.problems()).toMatchObject([{ policy: 'p', reason: 'TaintConflict' }]);
    expect(repair.isInConflict('n0', gpu)).toBe(true);
    expect(repair.isInConflict('another', gpu)).toBe(false);
    expect(onProblems).toHaveBeenCalledTimes(1);
  });

  it('is named with its writer, also if the leader sets another taint of the node in the same step', async () => {
    const also = rule('Restore', { key: 'other', effect: 'NoSchedule', ensure: 'Always' });
    const { change, taintsOf, events, repair } = startRepair({ ...restore, q: also }, [nodeEntry('n0', [gpu, other])]);
    for (let time = 0; time < 3; time++) {
      change('n0', { taints: [other] });
      await settle();
    }
    change('n0', { taints: [] });
    await settle();
    expect(taintsOf('n0')).toEqual([other]);
    const writer = 'field manager "other-writer" (Update)';
    const conflict = events.find(({ regarding, reason }) => regarding.kind === 'Node' && reason === 'TaintConflict');
    expect(conflict?.note).toContain(writer);
    expect(repair.problems()).toMatchObject([{ reason: 'TaintConflict', message: expect.stringContaining(writer) }]);
  });

  it('delays no other taint of the node if its writer cannot be read', async () => {
    const also = rule('Restore', { key: 'other', effect: 'NoSchedule', ensure: 'Always' });
    const evicting = rule('Restore', { key: 'evict', effect: 'NoExecute', ensure: 'Always' });
    const { change, taintsOf, beforeRead, repair } = startRepair({ ...restore, q: also, r: evicting }, [
      nodeEntry('n0', [gpu, other]),
    ]);
    for (let time = 0; time < 3; time++) {
      change('n0', { taints: [other] });
      await settle();
    }
    change('n0', { taints: [gpu, other, { key: 'evict', effect: 'NoExecute' }] });
    await settle();
    expect(repair.problems()).toEqual([]);
    beforeRead.mockImplementationOnce(() => {
      throw new ApiError('GET', '', 500, 'InternalError', '');
    });
    change('n0', { taints: [] });
    await settle();
    expect(beforeRead).toHaveBeenCalledTimes(1);
    expect(taintsOf('n0')).toEqual([other]);
    expect(repair.problems()).toMatchObject([{ reason: 'WouldEvictPods' }]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(repair.problems()).toMatchObject([{ reason: 'TaintConflict' }, { reason: 'WouldEvictPods' }]);
  });

  it('has an Event with the writer, also if it could not be read at first', async () => {
    const { change, beforeRead, events } = startRepair(restore, [nodeEntry('n0', [gpu])]);
    for (let time = 0; time < 3; time++) {
      change('n0', { taints: [] });
      await settle();
    }
    beforeRead.mockImplementationOnce(() => {
      throw new ApiError('GET', '', 500, 'InternalError', '');
    });
    change('n0', { taints: [] });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(beforeRead).toHaveBeenCalledTimes(2);
    const notes = events.filter(({ reason }) => reason === 'TaintConflict').map(({ note }) => note);
    expect(notes).toEqual(Array(2).fill(expect.stringMatching(/removes it repeatedly, last by .*"other-writer"/)));
  });

  it('is no conflict before the watch shows the last of three writes', async () => {
    const { repair, change, delayWatch, writes, said, taintsOf } = startRepair(restore, bare(1));
    await settle();
    change('n0', { taints: [] });
    await settle();
    change('n0', { taints: [] });
    const showLater = delayWatch('n0');
    await settle();
    expect(writes).toHaveLength(3);
    repair.policiesChanged();
    await settle();
    showLater();
    await settle();
    expect(taintsOf('n0')).toEqual([gpu]);
    expect(said()).toEqual(Array(3).fill('n0 TaintAdded'));
    expect(repair.problems()).toEqual([]);
  });

  it('is tried again as soon as it may be: three times in ten minutes, however long it goes on', async () => {
    const { takeAway, times } = startConflict();
    await takeAway(32);
    expect(times).toEqual([1, 2, 3, 11, 12, 13, 21, 22, 23, 31, 32]);
  });

  it('is no longer a problem of the policy ten minutes after the last repair', async () => {
    const { takeAway, times, repair, onProblems } = startConflict();
    await takeAway(9);
    // Ten minutes from the last time that it was put back, and not a minute before.
    await vi.advanceTimersByTimeAsync(11.5 * 60_000);
    expect(times).toEqual([1, 2, 3, 11]);
    expect(repair.problems()).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(times).toHaveLength(4);
    expect(repair.problems()).toEqual([]);
    expect(onProblems).toHaveBeenCalledTimes(2);
  });
});

const network = { key: 'example.com/network', effect: 'NoSchedule' } as const;
const notReady: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

it('a startup taint that another writer removes each time that it is set late is left to it, which node and policy say', async () => {
  const readyWhen = { daemonSets: [{ namespace: 'kube-system', name: 'missing' }] };
  const entry = nodeEntry('n0', [notReady]);
  const { writes, change, taintsOf, said, repair } = startRepair(
    { p: rule('Restore', { ...network, ensure: 'UntilReady', readyWhen }) },
    [{ ...entry, value: { ...entry.value, createdAt: Date.now() } }],
  );
  for (let second = 0; second < 60; second++) {
    await vi.advanceTimersByTimeAsync(1_000);
    if (taintsOf('n0')?.length === 2) change('n0', { taints: [notReady] });
  }
  await settle();
  expect(writes).toHaveLength(3);
  expect(said()).toEqual([...Array(3).fill('n0 TaintAdded'), 'n0 TaintConflict']);
  expect(repair.problems()).toContainEqual(expect.objectContaining({ policy: 'p', reason: 'TaintConflict' }));
});

it.each<{ why: string; before: readonly Taint[] }>([
  { why: 'registered without it', before: [] },
  { why: 'lost it afterwards', before: [notReady, network] },
])('the Event of a startup taint that is set late is true of a node that $why', async ({ before }) => {
  const readyWhen = { daemonSets: [{ namespace: 'kube-system', name: 'missing' }] };
  const entry = nodeEntry('n0', before);
  const { change, taintsOf, events } = startRepair(
    { p: rule('Restore', { ...network, ensure: 'UntilReady', readyWhen }) },
    [{ ...entry, value: { ...entry.value, createdAt: Date.now() } }],
  );
  await settle();
  change('n0', { taints: [notReady] });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(taintsOf('n0')).toEqual([notReady, network]);
  expect(events.map(({ note }) => note)).toEqual([
    'added startup taint example.com/network:NoSchedule, which the node lacked while it was not ready',
  ]);
});

it.each([
  { why: 'does not remove', taints: [network], undo: (): readonly Taint[] => [network] },
  { why: 'sets late', taints: [notReady], undo: (): readonly Taint[] => [notReady] },
])(
  'a startup taint that it $why, because a webhook undoes that, is left alone after three writes, and reported',
  async (one) => {
    const ready = one.taints.includes(network) ? ['example.com/gpu'] : [];
    const readyWhen = { allocatable: [{ resource: 'example.com/gpu' }] };
    const entry = nodeEntry('n0', one.taints);
    const { writes, mutation, said, repair } = startRepair(
      { p: rule('Restore', { ...network, ensure: 'UntilReady', readyWhen }) },
      [{ ...entry, value: { ...entry.value, createdAt: Date.now(), resources: ready } }],
    );
    mutation.mockImplementation(one.undo);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(repair.problems()).toContainEqual(
      expect.objectContaining({ reason: 'StartupTaintRefused', message: expect.stringContaining('mutating webhook') }),
    );
    await vi.advanceTimersByTimeAsync(500_000);
    expect(writes).toHaveLength(3);
    expect(said()).toEqual(['n0 TaintConflict']);
    expect(repair.problems()).toContainEqual(expect.objectContaining({ policy: 'p', reason: 'TaintConflict' }));
  },
);

describe('a required taint that a mutating webhook removes from the write', () => {
  const without = (taint: Taint) => (taints: readonly Taint[]) => taints.filter(({ key }) => key !== taint.key);
  const asValue = (value: string) => (taints: readonly Taint[]) => taints.map((taint) => ({ ...taint, value }));

  it.each([
    { why: 'it removes the taint, so nothing is stored', mutate: without(gpu), before: [], after: [] },
    {
      why: 'it gives the taint another value',
      mutate: asValue('tpu'),
      before: [],
      after: [{ ...gpu, value: 'tpu' }],
    },
    {
      why: 'it keeps the other value that the node carries',
      mutate: asValue('tpu'),
      before: [{ ...gpu, value: 'tpu' }],
      after: [{ ...gpu, value: 'tpu' }],
    },
  ])('is a conflict after three writes, and never reported as set: $why', async ({ mutate, before, after }) => {
    const { writes, mutation, said, repair, metric, taintsOf } = startRepair(restore, [nodeEntry('n0', before)]);
    mutation.mockImplementation(mutate);
    await settle();
    expect(repair.problems()).toMatchObject([
      {
        policy: 'p',
        reason: 'RepairRefused',
        message: expect.stringContaining(
          `a mutating webhook or MutatingAdmissionPolicy undoes the change of taint ${GPU} on node n0; to list them: kubectl get mutatingwebhookconfigurations; kubectl get mutatingadmissionpolicies`,
        ),
      },
    ]);
    await vi.advanceTimersByTimeAsync(500_000);
    expect(writes).toHaveLength(3);
    expect(taintsOf('n0')).toEqual(after);
    expect(said()).toEqual(['n0 TaintConflict']);
    expect(await metric('taintkeeper_repairs_total')).not.toContain('policy="p"');
    expect(repair.isInConflict('n0', gpu)).toBe(true);
    expect(repair.problems().map(({ reason }) => reason)).toEqual(['TaintConflict', 'RepairRefused']);
  });

  it('is set once the webhook allows it, and no longer a problem', async () => {
    const { mutation, said, repair, taintsOf } = startRepair(restore, bare(1));
    mutation.mockImplementation(without(gpu));
    await vi.advanceTimersByTimeAsync(60_000);
    mutation.mockReset();
    mutation.mockImplementation((taints) => taints);
    await vi.advanceTimersByTimeAsync(SWEEP_MS);
    expect(taintsOf('n0')).toEqual([gpu]);
    await vi.advanceTimersByTimeAsync(SWEEP_MS);
    expect(said()).toEqual(['n0 TaintConflict', 'n0 TaintAdded']);
    expect(repair.problems()).toEqual([]);
  });

  it('does not hide what else the write has set', async () => {
    const readyWhen = { allocatable: [{ resource: 'example.com/gpu' }] };
    const entry = nodeEntry('n0', [notReady]);
    const { mutation, events, repair, metric, taintsOf } = startRepair(
      {
        p: rule('Restore', PRESENT),
        q: rule('Restore', { key: 'other', effect: 'NoSchedule', ensure: 'Always' }),
        r: rule('Restore', { ...network, ensure: 'UntilReady', readyWhen }),
      },
      [{ ...entry, value: { ...entry.value, createdAt: Date.now() } }],
    );
    mutation.mockImplementation(without(gpu));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(taintsOf('n0')).toEqual([notReady, other, network]);
    const added = events.filter(({ reason, regarding }) => reason === 'TaintAdded' && regarding.kind === 'Node');
    expect(added.map(({ note }) => note)).toEqual([
      'TaintPolicy q set missing taint other:NoSchedule',
      expect.stringContaining('added startup taint example.com/network:NoSchedule'),
    ]);
    expect(await metric('taintkeeper_repairs_total')).toContain('{kind="Node",policy="q"} 1');
    expect(await metric('taintkeeper_repairs_total')).not.toContain('policy="p"');
    expect(repair.problems().map(({ policy, reason }) => `${policy} ${reason}`)).toEqual([
      'p TaintConflict',
      'p RepairRefused',
    ]);
  });
});

describe('refused writes of a node with a required taint and a startup taint', () => {
  const policies = {
    p: rule('Restore', PRESENT),
    q: rule('Restore', {
      ...network,
      ensure: 'UntilReady',
      readyWhen: { allocatable: [{ resource: 'example.com/gpu' }] },
    }),
  };
  const READY = { resources: ['example.com/gpu'] };
  const newNode = () => {
    const entry = nodeEntry('n0', [network]);
    return { ...entry, value: { ...entry.value, createdAt: Date.now() } };
  };
  const refuse = (name: string) => {
    throw new ApiError('PATCH', name, 403, 'Forbidden', 'no patch of nodes');
  };
  const reported = ({ repair }: Repair) => repair.problems().map(({ policy, reason }) => `${policy} ${reason}`);

  it.each([
    { why: 'removed the startup taint', taints: [], left: ['p RepairRefused'] },
    { why: 'set the required taint', taints: [network, gpu], left: ['q StartupTaintRefused'] },
  ])('are a problem only of what they still would change: a user has $why', async ({ taints, left }) => {
    const repair = startRepair(policies, [newNode()]);
    repair.change('n0', READY);
    repair.beforeWrite.mockImplementation(refuse);
    await settle();
    expect(reported(repair)).toEqual(['p RepairRefused', 'q StartupTaintRefused']);
    repair.change('n0', { taints });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(reported(repair)).toEqual(left);
  });

  it('are no problem soon after a user has removed the startup taint, whatever the pause after many failures', async () => {
    const repair = startRepair({ q: policies.q }, [newNode()]);
    repair.change('n0', READY);
    repair.beforeWrite.mockImplementation(refuse);
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(reported(repair)).toEqual(['q StartupTaintRefused']);
    repair.change('n0', { taints: [] });
    await settle();
    expect(reported(repair)).toEqual([]);
  });

  it.each([
    { refused: network.key, taints: [network, gpu], left: ['q StartupTaintRefused'] },
    { refused: gpu.key, taints: [], left: ['p RepairRefused'] },
  ])('do not prevent the other change: another plugin refuses that of $refused', async ({ refused, taints, left }) => {
    const repair = startRepair(policies, [newNode()]);
    repair.beforeWrite.mockImplementation((name) => {
      const [before, after] = [repair.taintsOf('n0'), repair.writes.at(-1)?.patch.spec?.taints].map((taints) =>
        taints?.some(({ key }) => key === refused),
      );
      if (before !== after) throw new ApiError('PATCH', name, 403, 'Forbidden', `${refused} is mine`);
    });
    repair.change('n0', READY);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(repair.taintsOf('n0')).toEqual(taints);
    expect(reported(repair)).toEqual(left);
    const tried = repair.writes.length;
    await vi.advanceTimersByTimeAsync(3_600_000);
    // With the longest pause, and one write each time.
    expect(repair.writes.length - tried).toBeLessThanOrEqual(30);
    repair.beforeWrite.mockReset();
    repair.change('n0', { labels: { any: 'news' } });
    await vi.advanceTimersByTimeAsync(2_000);
    expect(repair.taintsOf('n0')).toEqual([gpu]);
    expect(reported(repair)).toEqual([]);
  });

  it('stay reported while another change of the node is stored', async () => {
    const repair = startRepair(policies, [newNode()]);
    repair.beforeWrite.mockImplementation((name) => {
      const taints = repair.writes.at(-1)?.patch.spec?.taints;
      if (taints?.every(({ key }) => key !== network.key)) throw new ApiError('PATCH', name, 403, 'Forbidden', 'mine');
    });
    repair.change('n0', READY);
    await vi.advanceTimersByTimeAsync(10_000);
    const seen = new Set<string>();
    repair.onProblems.mockImplementation(() => void seen.add(reported(repair).join(', ')));
    repair.change('n0', { taints: [network] });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(repair.taintsOf('n0')).toEqual([network, gpu]);
    expect([...seen].every((list) => list.includes('q StartupTaintRefused'))).toBe(true);
    expect(reported(repair)).toEqual(['q StartupTaintRefused']);
  });

  it('name a taint that would evict pods, which no write sets', async () => {
    const evict = rule('Restore', { key: 'evict', effect: 'NoExecute', ensure: 'Always' });
    const repair = startRepair({ ...policies, r: evict }, [newNode()]);
    repair.beforeWrite.mockImplementation(refuse);
    repair.change('n0', READY);
    await settle();
    expect(reported(repair)).toContain('r WouldEvictPods');
    expect(repair.said()).toContain('n0 TaintMissing');
  });

  it('do not hide which webhook undoes the required taint: it is left alone meanwhile', async () => {
    const repair = startRepair(policies, [newNode()]);
    repair.mutation.mockImplementation((taints) => taints.filter(({ key }) => key !== gpu.key));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(reported(repair)).toEqual(['p TaintConflict', 'p RepairRefused']);
    repair.beforeWrite.mockImplementation(refuse);
    repair.change('n0', READY);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(reported(repair)).toEqual(['p TaintConflict', 'p RepairRefused', 'q StartupTaintRefused']);
    repair.beforeWrite.mockReset();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(reported(repair)).toEqual(['p TaintConflict', 'p RepairRefused']);
  });
});

describe('an entry for a startup taint that no policy sets on the node any more, and that another policy protects', () => {
  const waits = rule('Restore', {
    ...network,
    ensure: 'UntilReady',
    readyWhen: { allocatable: [{ resource: 'example.com/gpu' }] },
  });
  const protecting = rule('Restore', { key: 'example.com/*' });

  it.each([
    { why: 'its policy was deleted', policies: { protecting }, named: ['protecting'] },
    {
      why: 'its policy has other taints',
      policies: { p: rule('Restore', { key: 'other' }), protecting },
      named: ['p', 'protecting'],
    },
  ])('is reported by the status of policies if the API server refuses it: $why', async ({ policies, named }) => {
    const { writes, beforeWrite, setPolicies, repair } = startRepair({ p: waits, protecting }, [
      nodeEntry('n0', [network]),
    ]);
    await settle();
    beforeWrite.mockImplementation(() => {
      throw new ApiError('PATCH', '/api/v1/nodes/n0', 403, 'Forbidden', 'admission webhook "a.example.com" denied it');
    });
    setPolicies(policies);
    await vi.advanceTimersByTimeAsync(11_000);
    expect(writes[0]?.patch.metadata.annotations).toEqual({
      'taintkeeper.dev/allow-removal': 'example.com/network:NoSchedule',
    });
    const refused = repair.problems().filter(({ reason }) => reason === 'StartupTaintRefused');
    expect(refused.map(({ policy }) => policy)).toEqual(expect.arrayContaining(named));
    expect(refused[0]?.message).toMatch(/nodes\/n0: .*admission webhook "a.example.com" denied it/);
    beforeWrite.mockReset();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(repair.problems()).toEqual([]);
  });
});

describe('an entry of the annotation that stands together with its taint', () => {
  const HOUR_MS = 3_600_000;
  const preserve = { p: rule('Restore', { key: 'dedicated' }) };
  const allowed = () => {
    const entry = nodeEntry('n1', [gpu]);
    return { ...entry, value: { ...entry.value, allowRemoval: GPU } };
  };
  const entriesOf = (writes: ReturnType<typeof startRepair>['writes']) =>
    writes.map(({ patch }) => patch.metadata.annotations['taintkeeper.dev/allow-removal']);

  it('is deleted after an hour, and the taint stays', async () => {
    const { writes, said, taintsOf } = startRepair(preserve, [allowed()]);
    await vi.advanceTimersByTimeAsync(HOUR_MS - 1_000);
    expect(writes).toEqual([]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(entriesOf(writes)).toEqual([null]);
    expect(said()).toEqual(['n1 RemovalAnnotationExpired']);
    expect(taintsOf('n1')).toEqual([gpu]);
  });

  it('stays while the taint is off, however long', async () => {
    const { writes, change } = startRepair(restore, [allowed()]);
    await vi.advanceTimersByTimeAsync(60_000);
    change('n1', { taints: [] });
    await vi.advanceTimersByTimeAsync(3 * HOUR_MS);
    expect(writes).toEqual([]);
  });
});
