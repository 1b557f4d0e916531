import { expect, it, onTestFinished, vi } from 'vitest';
import { watchCluster } from '../../../../../src/controllers/cluster-watches.ts';
import { sourcesOf } from '../../../../../src/controllers/nodes/startup/startup-sources.ts';
import type { ReadyWhen } from '../../../../../src/policy/ready-when.ts';
import { rule } from '../../../judge/node-drifts.ts';
import { nodeEntry } from '../node-entries.ts';
import { startRepair } from '../repaired-nodes.ts';
import { type WatchedObject, watchedObjects } from '../watched-objects.ts';

const TAINT = { key: 'example.com/network', effect: 'NoSchedule' } as const;
const NAMED: ReadyWhen = { daemonSets: [{ namespace: 'kube-system', name: 'cni' }] };
const policies = (readyWhen: ReadyWhen) => ({ p: rule('Restore', { ...TAINT, ensure: 'UntilReady', readyWhen }) });

/** What a node reads of DaemonSets while the API server answers lists like this. */
async function start(status: number | undefined) {
  const api = watchedObjects();
  api.refuse(status);
  const { daemonSets, stop } = watchCluster(api.run, api.client);
  const unused = { read: () => 'Unread' as const };
  const rights = { permits: () => true };
  const sources = sourcesOf({ daemonSets, pods: unused, csiNode: unused, rights });
  await daemonSets.tried;
  return { api, daemonSets, sources, stop };
}

it.each([
  { why: 'the right to list them is missing', status: 403, found: 'NotPermitted' },
  { why: 'the API server is not able to', status: 503, found: 'Unread' },
])(
  'DaemonSets that cannot be listed are $found, where $why, and are read once that is possible',
  async ({ status, found }) => {
    const { api, sources, stop } = await start(status);
    expect(sources.daemonSets()).toBe(found);
    api.refuse(undefined);
    await expect.poll(sources.daemonSets).toMatchObject({ value: {} });
    await stop();
  },
);

it('DaemonSets that cannot be listed for half a minute have a fault, until they are listed', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { api, daemonSets, stop } = await start(503);
  expect(daemonSets.listFault()).toBeUndefined();
  vi.advanceTimersByTime(30_000);
  expect(daemonSets.listFault()).toContain('503');
  api.refuse(undefined);
  await expect.poll(daemonSets.listFault).toBeUndefined();
  api.refuse(503);
  api.endWatches();
  const asked = api.requests.length;
  await expect.poll(() => api.requests.length).toBeGreaterThan(asked);
  vi.advanceTimersByTime(60_000);
  expect(daemonSets.listFault()).toBeUndefined();
  await stop();
});

it('before DaemonSets are listed, none is said not to exist', async () => {
  const api = watchedObjects();
  api.refuse(503);
  const { daemonSets, stop } = watchCluster(api.run, api.client);
  onTestFinished(stop);
  const { repair } = startRepair(policies(NAMED), [], { daemonSets });
  const reasons = () => repair.problems().map(({ reason }) => reason);
  await daemonSets.tried;
  expect(reasons()).toEqual([]);
  api.refuse(undefined);
  await expect.poll(reasons).toEqual(['DaemonSetNotFound']);
});

it('DaemonSets that were listed stay known while the right is missing', async () => {
  const { api, daemonSets, sources, stop } = await start(undefined);
  await expect.poll(sources.daemonSets).toMatchObject({ value: {} });
  api.refuse(403);
  api.endWatches();
  await expect.poll(daemonSets.isRefused).toBe(true);
  expect(sources.daemonSets()).toMatchObject({ value: {} });
  await stop();
});

it.each([
  { why: 'at first', before: undefined },
  { why: 'after a list that failed for another reason', before: 503 },
])(
  'a startup taint past its deadline is removed as soon as the API server refuses to list DaemonSets, $why',
  async ({ before }) => {
    const api = watchedObjects();
    api.refuse(before ?? 403);
    const { daemonSets, stop } = watchCluster(api.run, api.client);
    const readyWhen: ReadyWhen = { ...NAMED, progressDeadlineSeconds: 60, afterDeadline: 'Remove' };
    const { taintsOf } = startRepair(policies(readyWhen), [nodeEntry('old', [TAINT])], { daemonSets });
    onTestFinished(stop);
    if (before !== undefined) {
      await expect.poll(() => api.requests.length).toBeGreaterThan(1);
      expect(taintsOf('old')).toEqual([TAINT]);
      api.refuse(403);
    }
    await expect.poll(() => taintsOf('old')).toEqual([]);
  },
);

/** With `hostnames` in its node affinity: with some 1,000, the leader cannot read it. */
function cniFor(hostnames: number) {
  const values = Array.from({ length: hostnames }, (_, index) => `node-${index}`);
  const nodeSelectorTerms = [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values }] }];
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } };
  return {
    metadata: { namespace: 'kube-system', name: 'cni' },
    spec: {
      selector: { matchLabels: { app: 'cni' } },
      template: { spec: { affinity, tolerations: [{ operator: 'Exists' }] } },
    },
  };
}

/** Without a node affinity. */
function cniEverywhere() {
  const { metadata, spec } = cniFor(1);
  return { metadata, spec: { ...spec, template: { spec: { tolerations: [{ operator: 'Exists' }] } } } };
}

/** A node waits with a startup taint in a cluster with this DaemonSet. */
async function startWith(daemonSet: WatchedObject, readyWhen: ReadyWhen) {
  const api = watchedObjects();
  api.put(daemonSet);
  const { daemonSets, stop } = watchCluster(api.run, api.client);
  onTestFinished(stop);
  await daemonSets.synced;
  return { api, ...startRepair(policies(readyWhen), [nodeEntry('old', [TAINT])], { daemonSets }) };
}

it.each<{ part: string; readyWhen: ReadyWhen; reasons: readonly string[] }>([
  {
    part: 'daemonSets',
    readyWhen: NAMED,
    reasons: ['DaemonSetUnreadable', 'StartupTaintDeadlineExceeded'],
  },
  { part: 'allDaemonSets', readyWhen: { allDaemonSets: {} }, reasons: ['StartupTaintDeadlineExceeded'] },
])('$part: a DaemonSet that is too large to be read keeps the taint, and the reason is reported', async (one) => {
  const { api, repair, taintsOf } = await startWith(cniFor(2_000), one.readyWhen);
  await expect.poll(() => repair.problems().map(({ reason }) => reason)).toEqual(one.reasons);
  for (const { message } of repair.problems()) expect(message).toContain('cannot read');
  expect(taintsOf('old')).toEqual([TAINT]);
  if (one.part !== 'allDaemonSets') return;
  // It does not select the node.
  api.put(cniFor(1));
  await expect.poll(() => taintsOf('old')).toEqual([]);
});

it('a startup taint no longer waits for a DaemonSet that was never readable, once it is deleted', async () => {
  const { api, repair, taintsOf } = await startWith(cniFor(2_000), { allDaemonSets: {} });
  await expect
    .poll(() => repair.problems().map(({ message }) => message))
    .toEqual([expect.stringContaining('cannot read')]);
  api.remove(cniFor(2_000));
  await expect.poll(() => taintsOf('old')).toEqual([]);
});

it('a node that waits for a DaemonSet learns that it cannot be read, and that it can be, with the same generation', async () => {
  const { metadata, spec } = cniFor(1);
  const labelled = (label: string) => {
    const labels = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`${label}-${index}`, label]));
    return { metadata: { ...metadata, labels, generation: 1 }, spec };
  };
  const { api, repair, onProblems } = await startWith(labelled('a'), NAMED);
  const waits = () => repair.problems().find(({ reason }) => reason === 'StartupTaintDeadlineExceeded')?.message;
  await expect.poll(waits).toContain('DaemonSet kube-system/cni');
  expect(waits()).not.toContain('cannot read');
  onProblems.mockClear();
  api.put(labelled('a'.repeat(300)));
  await expect.poll(waits).toContain('cannot read');
  expect(onProblems).toHaveBeenCalled();
  api.put(labelled('a'));
  await expect.poll(waits).not.toContain('cannot read');
});

it('a taint that policies keep on a node, and that a DaemonSet of a startup taint does not tolerate, is reported at once', async () => {
  const tolerating = (keys: readonly string[]) => {
    const { metadata, spec } = cniFor(1);
    const tolerations = keys.map((key) => ({ key, operator: 'Exists' }));
    return {
      metadata: { ...metadata, generation: keys.length },
      spec: { ...spec, template: { spec: { tolerations } } },
    };
  };
  const dedicated = { key: 'example.com/dedicated', effect: 'NoSchedule' } as const;
  const api = watchedObjects();
  api.put(tolerating([TAINT.key]));
  const { daemonSets, stop } = watchCluster(api.run, api.client);
  onTestFinished(stop);
  await daemonSets.synced;
  const entry = nodeEntry('new', [TAINT, dedicated]);
  const created = { ...entry, value: { ...entry.value, createdAt: Date.now() } };
  const both = { ...policies(NAMED), dedicated: rule('Restore', { ...dedicated, ensure: 'Always' }) };
  const { repair, taintsOf } = startRepair(both, [created], { daemonSets });
  await expect
    .poll(() => repair.problems())
    .toEqual([
      {
        kind: 'TaintPolicy',
        policy: 'p',
        reason: 'DaemonSetDoesNotTolerate',
        message:
          'on node new, startup taint example.com/network:NoSchedule waits for DaemonSet kube-system/cni, which does not tolerate ' +
          'example.com/dedicated:NoSchedule. Add the tolerations to the DaemonSets, or keep the taints off these nodes',
      },
    ]);
  api.put(tolerating([TAINT.key, dedicated.key]));
  await expect.poll(() => repair.problems()).toEqual([]);
  expect(taintsOf('new')).toEqual([TAINT, dedicated]);
});

it.each([
  { what: 'pods', resource: '"startup-pods"', readyWhen: NAMED },
  { what: 'CSINode', resource: '"startup-csinodes"', readyWhen: { csiDrivers: [{ name: 'csi.example.com' }] } },
])('a node whose taint waits for something else no longer has a watch: $what', async (one) => {
  const { metric, setPolicies } = await startWith(cniEverywhere(), one.readyWhen);
  const connected = () => metric('taintkeeper_watch_connected');
  await expect.poll(connected).toContain(one.resource);
  setPolicies(policies({ allocatable: [{ resource: 'example.com/gpu' }] }));
  await expect.poll(connected).not.toContain(one.resource);
});

it('a startup taint no longer waits for a DaemonSet that is deleted', async () => {
  const { api, repair, taintsOf } = await startWith(cniEverywhere(), { allDaemonSets: {} });
  await expect
    .poll(() => repair.problems().map(({ message }) => message))
    .toEqual([expect.stringContaining('DaemonSet kube-system/cni')]);
  expect(taintsOf('old')).toEqual([TAINT]);
  api.remove(cniEverywhere());
  await expect.poll(() => taintsOf('old')).toEqual([]);
});

it.each([
  { clock: 'an hour behind', offsetMs: 3_600_000 },
  { clock: 'an hour ahead', offsetMs: -3_600_000 },
])("a deadline is counted by the API server's clock, while that of this machine is $clock", async ({ offsetMs }) => {
  const now = () => new Date(Date.now() + offsetMs);
  const created = (name: string, secondsAgo: number) => {
    const entry = nodeEntry(name, [TAINT]);
    return { ...entry, value: { ...entry.value, createdAt: now().getTime() - secondsAgo * 1000 } };
  };
  const readyWhen: ReadyWhen = {
    conditions: [{ type: 'example.com/Ready' }],
    progressDeadlineSeconds: 60,
    afterDeadline: 'Remove',
  };
  const { taintsOf } = startRepair(policies(readyWhen), [created('young', 10), created('late', 61)], { now });
  await expect.poll(() => taintsOf('late')).toEqual([]);
  expect(taintsOf('young')).toEqual([TAINT]);
});
