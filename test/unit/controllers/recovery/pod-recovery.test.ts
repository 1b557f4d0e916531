import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { OWNER, startInCluster } from './recovery-cluster.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const pass = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1_000);
/** The watch and the queue are done. */
const settle = () => pass(0.6);

async function start(...parameters: Parameters<typeof startInCluster>) {
  const cluster = startInCluster(...parameters);
  await settle();
  return cluster;
}

const deletedBy = (cluster: { writes: readonly { method: string; path: string }[] }) =>
  cluster.writes.map(({ method, path }) => `${method} ${path.slice(path.lastIndexOf('/') + 1)}`);

const BUDGET_SPENT = { reason: 'PodFailsAgain', message: expect.stringContaining('the budget is spent') };

describe('what is not permitted', () => {
  it('is not tried: deleting without deletePods. The pod counts as stuck', async () => {
    const cluster = await start({ daemons: {} });
    cluster.forbid('deletePods');
    cluster.addPod('cni-1');
    await pass(60);
    expect([cluster.writes, cluster.recovery.problems()]).toEqual([[], []]);
    expect(cluster.recovery.stuckPods()).toHaveLength(1);
    cluster.forbid('patchDaemonSets');
    await settle();
    expect(cluster.writes).toHaveLength(1);
  });

  it('is not watched, nor complained about: pods, until they may be', async () => {
    const cluster = await start({});
    cluster.forbid('watchPods');
    cluster.setReadable(false);
    cluster.setPolicies({ daemons: {} });
    await pass(120);
    expect([cluster.calls.watches, cluster.recovery.problems(), cluster.logged()]).toEqual([0, [], []]);
    cluster.setReadable(true);
    cluster.forbid();
    await settle();
    expect(cluster.watching()).toBe(1);
    cluster.forbid('watchPods');
    await settle();
    expect(cluster.watching()).toBe(0);
  });
});

describe('a pod that stays Failed', () => {
  it('is deleted after the time of the policy, this one and no other one of its name', async () => {
    const cluster = await start({ daemons: {} });
    cluster.addPod('cni-1');
    await pass(9.9);
    expect(cluster.writes).toEqual([]);
    await pass(0.2);
    expect(cluster.writes).toEqual([
      {
        method: 'DELETE',
        path: '/api/v1/namespaces/kube-system/pods/cni-1',
        body: { preconditions: { uid: 'uid-cni-1', resourceVersion: '102' } },
      },
    ]);
    expect(cluster.events).toMatchObject([
      {
        reason: 'PodFreed',
        type: 'Normal',
        regarding: { kind: 'DaemonSet', namespace: 'kube-system', name: 'cni', uid: 'ds-1' },
        note: 'RecoveryPolicy daemons deleted the pod on node n1 (NodeShutdown), which stayed Failed',
      },
      {
        reason: 'PodFreed',
        regarding: { kind: 'RecoveryPolicy', name: 'daemons' },
        note: 'DaemonSet kube-system/cni: deleted the pod on node n1 (NodeShutdown), which stayed Failed',
      },
    ]);
    expect(await cluster.metrics.registry.metrics()).toContain('taintkeeper_recoveries_total{policy="daemons"} 1');
  });

  it('counts as stuck from then on, and no longer than it is there', async () => {
    const cluster = await start({ daemons: { mode: 'Audit' } });
    cluster.addPod('cni-1');
    await pass(12);
    const [stuck] = cluster.recovery.stuckPods();
    expect(stuck).toMatchObject({ name: 'kube-system/cni-1', daemonSet: { name: 'cni' } });
    expect(Math.round((stuck?.forMs ?? 0) / 1_000)).toBe(12);
    expect(cluster.reasons()).toEqual(['PodStuck DaemonSet', 'PodStuck RecoveryPolicy']);
    const findings = cluster.calls.findings;
    cluster.removePod('cni-1');
    await settle();
    expect(cluster.recovery.stuckPods()).toEqual([]);
    expect(cluster.calls.findings).toBeGreaterThan(findings);
    expect(cluster.writes).toEqual([]);
  });

  it.each<{ whose: string; pod: Parameters<Awaited<ReturnType<typeof start>>['addPod']>[2] }>([
    { whose: 'of a Job', pod: { owner: { ...OWNER, kind: 'Job', apiVersion: 'batch/v1' } } },
    { whose: 'that is only owned by a DaemonSet', pod: { owner: { ...OWNER, controller: false } } },
    { whose: 'beside taintkeeper itself', pod: { namespace: 'taintkeeper' } },
    { whose: 'of an earlier DaemonSet', pod: { owner: { ...OWNER, uid: 'ds-0' } } },
  ])('$whose is left alone', async ({ pod }) => {
    const cluster = await start({ daemons: {} });
    cluster.setDaemonSet({}, 'taintkeeper');
    cluster.addPod('cni-1', 'n1', pod);
    await pass(3_600);
    expect(cluster.writes).toEqual([]);
    expect(cluster.recovery.stuckPods()).toEqual([]);
  });

  it('is given its time anew when its node was not ready meanwhile', async () => {
    const cluster = await start({ daemons: {} });
    cluster.addPod('cni-1');
    await pass(8);
    cluster.setNode('n1', { ready: false });
    await pass(8);
    cluster.setNode('n1');
    await pass(8);
    expect(cluster.writes).toEqual([]);
    await pass(2.1);
    expect(cluster.writes).toHaveLength(1);
  });

  it('is freed by the policy that changes something, then by the first one by name', async () => {
    const cluster = await start({ a: { mode: 'Audit' }, c: {}, b: {} });
    cluster.addPod('cni-1');
    await pass(11);
    expect(cluster.events.map(({ regarding }) => regarding.name)).toEqual(['cni', 'b']);
  });
});

it('if thousands of pods fail together, the leader checks them together, not all nodes for each pod', async () => {
  const cluster = await start({ daemons: { mode: 'Audit' } }, { stuckMs: 30_000 });
  const { findings, sweeps } = cluster.calls;
  for (let index = 0; index < 2_000; index++) {
    cluster.addPod(`cni-${index}`, index % 2 ? 'n1' : 'n2');
    await pass(0.005);
  }
  const looks = cluster.calls.findings - findings;
  expect(looks).toBeLessThan(25);
  expect(cluster.calls.sweeps - sweeps).toBeLessThanOrEqual(looks);
});

describe('pods are watched', () => {
  it('only while there is a policy', async () => {
    const cluster = await start({});
    expect(cluster.watching()).toBe(0);
    cluster.setPolicies({ daemons: {} });
    await settle();
    expect(cluster.watching()).toBe(1);
    expect(await cluster.metrics.registry.metrics()).toContain('taintkeeper_watch_connected{resource="pods"} 1');
    cluster.addPod('cni-1');
    await pass(9);
    cluster.setPolicies({});
    await pass(60);
    expect(cluster.watching()).toBe(0);
    expect(cluster.writes).toEqual([]);
    expect(await cluster.metrics.registry.metrics()).not.toContain('resource="pods"');
  });

  it('with one watch, however often the policies change', async () => {
    const cluster = await start({ daemons: {} });
    for (const mode of ['Audit', 'Recover', 'Audit', 'Recover'] as const) cluster.setPolicies({ daemons: { mode } });
    cluster.addPod('cni-1');
    await pass(10.1);
    expect(cluster.calls.watches).toBe(1);
    expect(cluster.writes).toHaveLength(1);
  });
});

it('where pods may not be watched, the policies are in problem', async () => {
  const cluster = await start({});
  cluster.setReadable(false);
  cluster.setPolicies({ a: {}, b: { mode: 'Audit' } });
  await pass(20);
  expect(cluster.recovery.problems()).toEqual([]);
  await pass(15);
  expect(cluster.recovery.problems()).toMatchObject([
    {
      kind: 'RecoveryPolicy',
      policy: 'a',
      reason: 'PodsNotWatched',
      message: expect.stringContaining('no right to list'),
    },
    { kind: 'RecoveryPolicy', policy: 'b', reason: 'PodsNotWatched' },
  ]);
  const calls = cluster.calls.findings;
  cluster.setReadable(true);
  await pass(60);
  expect(cluster.recovery.problems()).toEqual([]);
  expect(cluster.calls.findings).toBeGreaterThan(calls);
});

it('what was deleted for a policy counts for the one that replaces it', async () => {
  const cluster = await start({ daemons: {} }, { limit: 1 });
  cluster.addPod('cni-1');
  await pass(60);
  expect(deletedBy(cluster)).toEqual(['DELETE cni-1']);
  cluster.removePod('cni-1');
  cluster.setPolicies({});
  await pass(120);
  cluster.setPolicies({ others: {} });
  await pass(1);
  cluster.addPod('cni-2');
  await pass(120);
  expect(deletedBy(cluster)).toEqual(['DELETE cni-1']);
  expect(cluster.recovery.problems()).toMatchObject([{ policy: 'others', ...BUDGET_SPENT }]);
});

describe('when the API server', () => {
  it.each([404, 409])('answers %i, another writer was faster: that is no error and does not count', async (status) => {
    const cluster = await start({ daemons: {} }, { limit: 1 });
    cluster.answers(() => status);
    cluster.addPod('cni-1');
    await pass(10.1);
    cluster.answers(() => 'done');
    await pass(1.1);
    expect(deletedBy(cluster)).toEqual(['DELETE cni-1', 'DELETE cni-1']);
    expect(cluster.reasons()).toEqual(['PodFreed DaemonSet', 'PodFreed RecoveryPolicy']);
    expect(cluster.logged().filter((line) => line.includes('pod-recovery'))).toEqual([]);
  });

  it('gives no answer, it is tried again, and counts once', async () => {
    const cluster = await start({ daemons: {} }, { limit: 1 });
    let lost = 2;
    cluster.answers(() => (lost-- > 0 ? 'lost' : 'done'));
    cluster.addPod('cni-1');
    await pass(15);
    expect(deletedBy(cluster)).toEqual(['DELETE cni-1', 'DELETE cni-1', 'DELETE cni-1']);
    await pass(60);
    cluster.addPod('cni-2');
    await pass(60);
    expect(cluster.writes).toHaveLength(3);
    expect(cluster.recovery.problems()).toMatchObject([BUDGET_SPENT]);
  });

  it('has deleted the pod without an answer, that counts', async () => {
    const cluster = await start({ daemons: {} }, { limit: 1 });
    cluster.answers(({ path }) => {
      cluster.removePod(path.slice(path.lastIndexOf('/') + 1));
      return 'lost';
    });
    cluster.addPod('cni-1');
    await pass(60);
    cluster.addPod('cni-2');
    await pass(60);
    expect(deletedBy(cluster)).toEqual(['DELETE cni-1']);
  });

  it('has done it without an answer, and says so when asked again, that counts', async () => {
    const cluster = await start({ daemons: {} }, { limit: 1 });
    let tries = 0;
    // The watch is late.
    cluster.answers(() => (tries++ === 0 ? 'lost' : 404));
    cluster.addPod('cni-1');
    await pass(11);
    cluster.removePod('cni-1');
    await pass(60);
    cluster.answers(() => 'done');
    const before = cluster.writes.length;
    cluster.addPod('cni-2');
    await pass(120);
    expect(cluster.writes.every((write) => write.method === 'DELETE')).toBe(true);
    expect(cluster.writes.slice(before)).toEqual([]);
    expect(cluster.recovery.problems()).toMatchObject([BUDGET_SPENT]);
  });

  it('refuses, the other pods are freed all the same, and the policy is in problem', async () => {
    const cluster = await start({});
    cluster.answers(({ path }) => (path.endsWith('cni-1') ? 403 : 'done'));
    cluster.addPod('cni-1');
    cluster.addPod('cni-2', 'n2');
    cluster.setPolicies({ daemons: {} });
    await pass(10.1);
    expect(deletedBy(cluster).slice(0, 2)).toEqual(['DELETE cni-1', 'DELETE cni-2']);
    expect(cluster.recovery.problems()).toEqual([
      {
        kind: 'RecoveryPolicy',
        policy: 'daemons',
        reason: 'RecoveryFailed',
        message:
          'pods cannot be freed (DELETE /api/v1/namespaces/kube-system/pods/cni-1: 403: on purpose): DaemonSet kube-system/cni on node n1',
      },
    ]);
    cluster.answers(() => 'done');
    await pass(60);
    expect(cluster.recovery.problems()).toEqual([]);
    expect(cluster.logged()).toContain('pod-recovery: it works again');
  });
});

it('stops between two pods', async () => {
  const cluster = await start({});
  cluster.addPod('cni-1', 'n1');
  cluster.addPod('cni-2', 'n2');
  let stopped: Promise<void> | undefined;
  cluster.answers(() => {
    stopped ??= cluster.recovery.stop();
    return 'done';
  });
  cluster.setPolicies({ daemons: {} });
  await pass(11);
  await stopped;
  expect(deletedBy(cluster)).toEqual(['DELETE cni-1']);
});

it('a pod of a new DaemonSet is freed in time, whatever the pause after failures with the deleted DaemonSet of its name', async () => {
  const cluster = await start({ daemons: {} });
  cluster.answers(() => 500);
  cluster.addPod('cni-1');
  await pass(120);
  const before = cluster.writes.length;
  // From the failure on, the next pause is 15 s at least.
  while (cluster.writes.length === before) await pass(0.1);
  await settle();
  cluster.answers(() => 'done');
  cluster.writes.splice(0);
  cluster.removePod('cni-1');
  cluster.removeDaemonSet();
  await settle();
  cluster.setDaemonSet({}, 'kube-system', 'ds-2');
  cluster.addPod('cni-2', 'n1', { owner: { ...OWNER, uid: 'ds-2' } });
  await pass(11);
  expect(deletedBy(cluster)).toEqual(['DELETE cni-2']);
});

describe('what fails again at once', () => {
  it('is problem until it has been over for a while, not from pod to pod', async () => {
    const cluster = await start({ daemons: {} });
    cluster.addPod('cni-1');
    await pass(10.1);
    cluster.addPod('cni-2');
    await settle();
    expect(cluster.recovery.problems()).toEqual([
      {
        kind: 'RecoveryPolicy',
        policy: 'daemons',
        reason: 'PodFailsAgain',
        message: expect.stringMatching(
          /^pods that were freed failed again at once: .*: DaemonSet kube-system\/cni on node n1$/,
        ),
      },
    ]);
    const problems = cluster.recovery.problems();
    for (const name of ['cni-3', 'cni-4']) {
      await pass(30);
      cluster.removePod(name === 'cni-3' ? 'cni-2' : 'cni-3');
      await pass(2);
      expect(cluster.recovery.problems()).toEqual(problems);
      cluster.addPod(name);
      await settle();
      expect(cluster.recovery.problems()).toEqual(problems);
    }
    const { findings } = cluster.calls;
    cluster.removePod('cni-4');
    await pass(6);
    expect(cluster.recovery.problems()).toEqual([]);
    expect(cluster.calls.findings).toBeGreaterThan(findings);
  });

  /** A DaemonSet controller that replaces a Failed pod after 1, 2, 4 … 900 s, and pods that fail so many seconds after they began. */
  async function tenMinutes(failsAfter: number): Promise<number> {
    const cluster = await start({ daemons: {} }, { stuckMs: 1_000 });
    let count = 0;
    let backOff = 1;
    let present = '';
    let replaceAt = 0;
    const begin = () => {
      present = '';
      setTimeout(() => {
        present = `cni-${++count}`;
        replaceAt = performance.now() + backOff * 1_000;
        cluster.addPod(present);
      }, failsAfter * 1_000);
    };
    begin();
    let seen = 0;
    for (let tenths = 0; tenths < 6_000; tenths++) {
      await pass(0.1);
      if (cluster.writes.length > seen) {
        seen = cluster.writes.length;
        begin();
      } else if (present !== '' && performance.now() >= replaceAt) {
        backOff = Math.min(2 * backOff, 900);
        cluster.removePod(present);
        begin();
      }
    }
    await cluster.recovery.stop();
    expect(count).toBeGreaterThan(5);
    return seen;
  }

  it.each([
    { failsAfter: 0.2, freed: 1 },
    { failsAfter: 1.5, freed: 3 },
  ])('in ten minutes is freed $freed times, if it fails after $failsAfter s', async ({ failsAfter, freed }) => {
    expect(await tenMinutes(failsAfter)).toBe(freed);
  });
});
