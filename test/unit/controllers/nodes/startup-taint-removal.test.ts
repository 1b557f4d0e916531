import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import type { ClusterDaemonSet, ClusterNode } from '../../../../src/cluster/cluster-objects.ts';
import type { Entry } from '../../../../src/cluster/watch/cached-objects.ts';
import type { ReportedProblem } from '../../../../src/controllers/reports.ts';
import type { NodeRecord } from '../../../../src/judge/node-record.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import { eventually } from '../../eventually.ts';
import { runTimeFaster } from '../../fast-time.ts';
import { stopClock } from '../../stopped-clock.ts';
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
    generation: 1,
    podSelector: { matchLabels: { app: 'cilium' } },
  } as unknown as ClusterDaemonSet,
};

const registered = (name: string, taints: readonly Taint[] = [TAINT]): Entry<ClusterNode> => {
  const entry = nodeEntry(name, taints);
  return { ...entry, value: { ...entry.value, createdAt: Date.now() } };
};
const daemonPod = (ready: boolean, node = 'n1') => ({
  metadata: {
    name: `cilium-${node}`,
    namespace: 'kube-system',
    creationTimestamp: new Date(Date.now() + 1_000).toISOString(),
    ownerReferences: [{ kind: 'DaemonSet', uid: 'cilium-uid', controller: true }],
  },
  spec: { nodeName: node },
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
  await expect.poll(() => cluster.isKilled() || stateOf(cluster) !== undefined).toBe(true);
  cluster.daemonPods.put(daemonPod(true));
  await expect.poll(() => cluster.isKilled() || stateOf(cluster) === 'Removed').toBe(true);
}

runTimeFaster();

const SITUATIONS = [
  // The record as Waiting, as Ready; the Node; the record as Removed.
  { what: 'that has its taint', taints: [TAINT], writes: 4, nodeWrites: 1 },
  // The Node before that.
  { what: 'that registered without it and is not ready', taints: [NOT_READY], writes: 5, nodeWrites: 2 },
];

describe.each(SITUATIONS)('a node $what', ({ taints, writes, nodeWrites: expected }) => {
  it('is through with its startup taint after these writes', async () => {
    const cluster = lead([registered('n1', taints)]);
    cluster.daemonPods.put(daemonPod(false));
    await finished(cluster);
    expect(carries(cluster)).toBe(false);
    expect(cluster.requests.filter((request) => !/^(GET|WATCH) /.test(request))).toHaveLength(writes);
    expect(nodeWrites(cluster)).toBe(expected);
  });

  it.each(Array.from({ length: writes }, (_, index) => index + 1))(
    'is through with it once, although the leader is killed after write %i',
    async (killedAfter) => {
      const first = lead([registered('n1', taints)], { killedAfter });
      first.daemonPods.put(daemonPod(false));
      await finished(first);
      await expect.poll(first.isKilled).toBe(true);
      await first.repair.stop();

      const second = lead([...first.cluster.values()], { stored: first.records.all() });
      second.daemonPods.put(daemonPod(true));
      await finished(second);
      expect(carries(second)).toBe(false);
      expect(nodeWrites(first) + nodeWrites(second)).toBe(expected);
      await second.repair.stop();

      // A third one finds nothing to do, and says nothing.
      const third = lead([...second.cluster.values(), registered('n2')], { stored: second.records.all() });
      third.daemonPods.put(daemonPod(true), daemonPod(true, 'n2'));
      await expect.poll(() => stateOf(third, 'n2')).toBe('Removed');
      expect(nodeWrites(third)).toBe(0);
      expect(third.said()).toEqual(['n2 StartupTaintRemoved']);
    },
  );
});

it('a removal that the API server refuses is tried again at once when a policy changes, whatever the pause after many failures', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const cluster = lead([registered('n1')]);
  cluster.beforeWrite.mockImplementation((name) => {
    throw new ApiError('PATCH', name, 403, 'Forbidden', 'no patch of nodes');
  });
  cluster.daemonPods.put(daemonPod(true));
  await vi.advanceTimersByTimeAsync(120_000);
  const before = nodeWrites(cluster);
  expect(before).toBeGreaterThan(5);
  // From the failure on, the next pause is 15 s at least.
  while (nodeWrites(cluster) === before) await vi.advanceTimersByTimeAsync(100);
  cluster.beforeWrite.mockReset();
  cluster.setPolicies({
    ...POLICIES,
    other: { mode: 'Audit', taints: [{ key: 'other', effect: 'NoSchedule', restrict: ['Removal'] }] },
  });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(carries(cluster)).toBe(false);
});

it('nodes whose startup taints cannot be changed are named by one problem of the policy: five at most', async () => {
  const names = Array.from({ length: 6 }, (_, index) => `n${index}`);
  const cluster = lead(names.map((name) => registered(name)));
  cluster.beforeWrite.mockImplementation((name) => {
    throw new ApiError('PATCH', name, 403, 'Forbidden', 'no');
  });
  cluster.daemonPods.put(...names.map((name) => daemonPod(true, name)));
  const texts = [...names.slice(0, 4).map((name) => `on node ${name}, PATCH ${name}: 403 Forbidden: no`), 'and 2 more'];
  await expect.poll(cluster.repair.problems).toEqual([
    {
      kind: 'TaintPolicy',
      policy: 'network',
      reason: 'StartupTaintRefused',
      message: `the API server refuses the changes of startup taints: ${texts.join('; ')}`,
    },
  ]);
});

it('a refusal with another request id is no news for the status', async () => {
  const cluster = lead([registered('n1')]);
  let requests = 0;
  cluster.beforeWrite.mockImplementation((name) => {
    throw new ApiError('PATCH', name, 403, 'Forbidden', `request ${++requests}`);
  });
  cluster.daemonPods.put(daemonPod(true));
  const messages = () => cluster.repair.problems().map(({ message }) => message);
  const FIRST = 'the API server refuses the changes of startup taints: on node n1, PATCH n1: 403 Forbidden: request 1';
  await expect.poll(messages).toEqual([FIRST]);
  const told = cluster.onProblems.mock.calls.length;
  const before = requests;
  await expect.poll(() => requests).toBeGreaterThan(before + 1);
  expect(messages()).toEqual([FIRST]);
  expect(cluster.onProblems.mock.calls.length).toBe(told);
});

const UNDONE =
  'startup-progress: n1: a mutating webhook undoes the change of startup taint example.com/network:NoSchedule; ' +
  'to list the webhooks: kubectl get mutatingwebhookconfigurations';

it('a removal that a mutating webhook undoes is a failure, and no Event says that the taint was removed', async () => {
  const cluster = lead([registered('n1')]);
  cluster.mutation.mockImplementation((taints) => [...taints, TAINT]);
  cluster.daemonPods.put(daemonPod(true));
  await expect.poll(cluster.messages).toContain(UNDONE);
  expect(cluster.said()).toEqual([]);
  cluster.mutation.mockImplementation((taints) => taints);
  await expect.poll(() => stateOf(cluster)).toBe('Removed');
  expect(cluster.said()).toEqual(['n1 StartupTaintRemoved']);
});

it('a late addition that a mutating webhook undoes is a failure, and no Event says that the taint was added', async () => {
  const cluster = lead([registered('n1', [NOT_READY])]);
  cluster.mutation.mockImplementation((taints) => taints.filter(({ key }) => key !== TAINT.key));
  await expect.poll(cluster.messages).toContain(UNDONE);
  expect(cluster.said()).toEqual([]);
  cluster.mutation.mockImplementation((taints) => taints);
  await expect.poll(cluster.said).toEqual(['n1 StartupTaintAdded']);
});

it('a startup taint whose removal another policy restricts stays, without an attempt, until the policy allows it', async () => {
  const cluster = lead([registered('n1')]);
  const other: TaintPolicySpec = { mode: 'Deny', taints: [{ ...TAINT, restrict: ['Removal'] }] };
  cluster.setPolicies({ ...POLICIES, other });
  cluster.daemonPods.put(daemonPod(true));
  await expect.poll(() => stateOf(cluster)).toBe('Ready');
  await cluster.repair.policiesChanged();
  expect(nodeWrites(cluster)).toBe(0);
  cluster.setPolicies(POLICIES);
  await expect.poll(() => stateOf(cluster)).toBe('Removed');
  expect(nodeWrites(cluster)).toBe(1);
});

describe('a startup taint that the node registered without', () => {
  it('is not set if the node becomes ready before the write, but reported once', async () => {
    const cluster = lead([registered('n1', [NOT_READY])]);
    cluster.beforeWrite.mockImplementationOnce((name) => cluster.change(name, { taints: [] }));
    await expect.poll(() => stateOf(cluster)).toBe('Missed');
    expect(cluster.taintsOf('n1')).toEqual([]);
    cluster.change('n1', { taints: [NOT_READY] });
    cluster.register(registered('n2'));
    await expect.poll(() => stateOf(cluster, 'n2')).toBe('Waiting');
    expect(carries(cluster)).toBe(false);
    expect(cluster.said()).toEqual(['n1 StartupTaintMissed']);
  });

  it('is set beside a change of another writer, and keeps it', async () => {
    const other: Taint = { key: 'dedicated', effect: 'NoSchedule' };
    const cluster = lead([registered('n1', [NOT_READY])]);
    cluster.beforeWrite.mockImplementationOnce((name) => cluster.change(name, { taints: [NOT_READY, other] }));
    await expect.poll(() => cluster.taintsOf('n1')).toEqual([NOT_READY, other, TAINT]);
  });
});

it('with --audit, a node that waits gets free, and no other node is changed', async () => {
  const enforcing = lead([registered('n1')]);
  enforcing.daemonPods.put(daemonPod(false));
  await expect.poll(() => stateOf(enforcing)).toBe('Waiting');
  await enforcing.repair.stop();

  const others = [registered('n2'), registered('n3', [NOT_READY])];
  const stored = enforcing.records.all();
  const auditing = lead([...enforcing.cluster.values(), ...others], { stored, audit: true });
  auditing.daemonPods.put(daemonPod(true), daemonPod(true, 'n2'), daemonPod(true, 'n3'));
  await expect.poll(() => stateOf(auditing)).toBe('Removed');
  expect(auditing.said()).toEqual(['n1 StartupTaintRemoved']);
  expect(auditing.requests.filter((request) => request.startsWith('PATCH /api/v1/nodes/'))).toHaveLength(1);
  expect([carries(auditing), carries(auditing, 'n2')]).toEqual([false, true]);
});

it('a taint of ensure: AtRegistration is never set late, nor reported as missed', async () => {
  const taints = [{ key: 'example.com/preparing', effect: 'NoSchedule', ensure: 'AtRegistration' } as const];
  const both = { network: POLICIES.network, preparing: { mode: 'Restore', taints } } as Record<string, TaintPolicySpec>;
  const cluster = startRepair(both, [registered('n1', [NOT_READY])], { daemonSets: [CILIUM] });
  await expect.poll(() => stateOf(cluster)).toBe('Waiting');
  expect(cluster.taintsOf('n1')).toEqual([NOT_READY, TAINT]);
  cluster.change('n1', { taints: [] });
  await expect.poll(() => stateOf(cluster)).toBe('Removed');
  expect(cluster.said()).toEqual(['n1 StartupTaintAdded']);
});

it('another Node of the name begins anew, and pods of the earlier one do not count', async () => {
  const cluster = lead([registered('n1')]);
  cluster.daemonPods.put(daemonPod(true));
  await expect.poll(() => stateOf(cluster)).toBe('Removed');
  const again = { ...registered('n1'), uid: 'another-uid' };
  cluster.register({ ...again, value: { ...again.value, createdAt: Date.now() + 5_000 } });
  await expect.poll(() => cluster.startupOn('n1')).toContain('its pod is older than the Node');
  await expect.poll(() => stateOf(cluster)).toBe('Waiting');
  expect(carries(cluster)).toBe(true);
});

it('the record keeps its taints beside the progress of startup taints, also those of an earlier Node of the name', async () => {
  const gpu = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' } as const;
  const machine = { systemUUID: 'one', providerID: '' };
  const policies: Record<string, TaintPolicySpec> = {
    ...POLICIES,
    gpu: {
      mode: 'Deny',
      taints: [{ key: 'dedicated', restrict: ['Removal'] }],
      deletedNodeRetentionSeconds: 86_400,
    },
  };
  const taints = [{ ...gpu, policies: ['gpu'] }];
  const earlier = { uid: 'earlier', machine, taints, deletedAt: Date.now() };
  const entry = registered('n1');
  const node = { ...entry, value: { ...entry.value, machine } };
  const cluster = startRepair(policies, [node], { daemonSets: [CILIUM], stored: { n1: earlier } });
  await expect.poll(() => stateOf(cluster)).toBe('Waiting');
  expect(cluster.records.all().n1).toMatchObject({ uid: node.uid, machine, taints });
  // The taint stays on the node from now on: there is no progress.
  cluster.setPolicies({
    ...policies,
    always: { mode: 'Restore', taints: [{ ...TAINT, ensure: 'Always' }] },
  });
  await expect.poll(() => stateOf(cluster)).toBe(undefined);
  expect(cluster.records.all().n1).toMatchObject({ uid: node.uid, machine, taints });
});

it('a record with nothing but the progress of startup taints is deleted with it', async () => {
  const cluster = lead([registered('n1')]);
  await expect.poll(() => stateOf(cluster)).toBe('Waiting');
  cluster.setPolicies({ always: { mode: 'Restore', taints: [{ ...TAINT, ensure: 'Always' }] } });
  await expect.poll(cluster.records.all).toEqual({});
});

it('one startup taint takes the place of another in the record, where one edit exchanges them', async () => {
  const other = { key: 'example.com/storage', effect: 'NoSchedule' } as const;
  const cluster = lead([registered('n1', [TAINT, other])]);
  cluster.daemonPods.put(daemonPod(false));
  const recorded = () => cluster.records.all().n1?.startup?.map(({ key, state }) => `${key} ${state}`);
  await expect.poll(recorded).toEqual([`${TAINT.key} Waiting`]);
  cluster.setPolicies({
    network: {
      mode: 'Restore',
      taints: [
        { ...TAINT, ensure: 'Always' },
        { ...other, ensure: 'UntilReady', readyWhen },
      ],
    },
  });
  await expect.poll(recorded).toEqual([`${other.key} Waiting`]);
});

it('a DaemonSet that the policy names later, or that is not ready later, does not bring the taint back', async () => {
  const cluster = lead([registered('n1')]);
  cluster.daemonPods.put(daemonPod(true));
  await expect.poll(() => stateOf(cluster)).toBe('Removed');
  const daemonSets = [...readyWhen.daemonSets, { namespace: 'kube-system', name: 'later' }];
  cluster.setPolicies({
    network: { mode: 'Restore', taints: [{ ...TAINT, ensure: 'UntilReady', readyWhen: { daemonSets } }] },
  });
  cluster.daemonPods.remove('cilium-n1');
  cluster.register(registered('n2'));
  await expect.poll(() => cluster.startupOn('n2')).toContain('kube-system/later: it does not exist');
  expect([stateOf(cluster), carries(cluster), nodeWrites(cluster)]).toEqual(['Removed', false, 1]);
});

it('a node whose record is deleted after its policy is not checked all the time', async () => {
  stopClock();
  const cluster = lead([registered('n1')]);
  const checks = async () => Number(/controller="startup-progress",result="ok"} (\d+)/.exec(await reconciles())?.[1]);
  const reconciles = () => cluster.metric('taintkeeper_reconciliations_total');
  await eventually(async () => {
    await vi.advanceTimersByTimeAsync(100);
    expect(stateOf(cluster)).toBe('Waiting');
  });
  cluster.setPolicies({});
  await vi.advanceTimersByTimeAsync(1_000);
  cluster.records.remove('n1');
  await vi.advanceTimersByTimeAsync(1_000);
  const before = await checks();
  await vi.advanceTimersByTimeAsync(20_000);
  expect((await checks()) - before).toBeLessThan(5);
  expect(carries(cluster)).toBe(true);
});

it('a Ready pod of an earlier revision counts, while the DaemonSet is rolled out', async () => {
  const cluster = lead([registered('n1')]);
  await expect.poll(() => cluster.startupOn('n1')).toContain('it has no pod on the node');
  cluster.setDaemonSet(CILIUM, { ...CILIUM, resourceVersion: '2', value: { ...CILIUM.value, generation: 2 } });
  const pod = daemonPod(true);
  const labels = { 'controller-revision-hash': 'earlier', 'pod-template-generation': '1' };
  cluster.daemonPods.put({ ...pod, metadata: { ...pod.metadata, labels } } as typeof pod);
  await expect.poll(() => stateOf(cluster)).toBe('Removed');
});

it('the status of the policy names a DaemonSet that would wait for itself, until it tolerates the taint', async () => {
  const waitsForItself = { ...CILIUM, value: { ...CILIUM.value, tolerations: [] } };
  const cluster = lead([], { daemonSets: [waitsForItself] });
  expect(cluster.repair.problems()).toMatchObject([{ policy: 'network', reason: 'DaemonSetDoesNotTolerate' }]);
  cluster.setDaemonSet(waitsForItself, CILIUM);
  expect(cluster.repair.problems()).toEqual([]);
});

describe('a node that waits past the progress deadline', () => {
  const message = (texts: string) => `the progress deadline of startup taints has passed: ${texts}`;
  const textOn = (node: string, problem: string) =>
    `on node ${node}, startup taint example.com/network:NoSchedule waits for DaemonSet kube-system/cilium: ${problem}`;
  const waitingFor = (daemonSets: { namespace: string; name: string }[], progressDeadlineSeconds = 600) => ({
    mode: 'Restore' as const,
    taints: [{ ...TAINT, ensure: 'UntilReady' as const, readyWhen: { daemonSets, progressDeadlineSeconds } }],
  });

  const recorded = (name: string, seconds: number): NodeRecord => ({
    uid: `uid-${name}`,
    machine: { systemUUID: '', providerID: '' },
    taints: [],
    startup: [{ ...TAINT, state: 'Waiting', policies: ['network'], since: Date.now() - seconds * 1_000 }],
  });

  /** Nodes that have waited for so long, and what the status of the policies is told last. */
  function overdue(
    names: readonly string[],
    seconds = 700,
    policies: Record<string, TaintPolicySpec> = POLICIES,
    now = () => new Date(),
  ) {
    const stored = Object.fromEntries(names.map((name) => [name, recorded(name, seconds)]));
    const nodes = names.map((name) => registered(name));
    const cluster = startRepair(policies, nodes, { daemonSets: [CILIUM], stored, now });
    let last: readonly ReportedProblem[] = [];
    cluster.onProblems.mockImplementation(() => {
      last = cluster.repair.problems();
    });
    return { ...cluster, told: () => last };
  }
  const stalled = (policy: string, texts: string): ReportedProblem => ({
    kind: 'TaintPolicy',
    policy,
    reason: 'StartupTaintDeadlineExceeded',
    message: message(texts),
  });

  it('is named by the status of its policy, with what it waits for, until it is ready', async () => {
    const { told, daemonPods } = overdue(['n1']);
    await expect.poll(told).toEqual([stalled('network', textOn('n1', 'it has no pod on the node'))]);
    daemonPods.put(daemonPod(false));
    await expect.poll(told).toEqual([stalled('network', textOn('n1', 'its pod is not Ready'))]);
    daemonPods.put(daemonPod(true));
    await expect.poll(told).toEqual([]);
  });

  it('is named once the deadline has passed, and not before', async () => {
    let time = Date.now();
    const { told, startupOn, onProblems } = overdue(['n1'], 599, POLICIES, () => new Date(time));
    await expect.poll(() => startupOn('n1')).toContain('it has no pod on the node');
    const before = onProblems.mock.calls.length;
    expect(told()).toEqual([]);
    time += 1_000;
    await expect.poll(told).toEqual([stalled('network', textOn('n1', 'it has no pod on the node'))]);
    expect(onProblems.mock.calls.length).toBe(before + 1);
  });

  it.each<{ what: string; end: (cluster: Cluster) => void }>([
    { what: 'is deleted', end: (cluster) => cluster.remove('n1') },
    { what: 'lost the taint to a user', end: (cluster) => cluster.change('n1', { taints: [] }) },
    { what: 'is replaced by another', end: (cluster) => cluster.register({ ...registered('n1'), uid: 'another' }) },
    { what: 'has a policy that is deleted', end: (cluster) => cluster.setPolicies({}) },
    {
      what: 'has a policy with a later deadline now',
      end: (cluster) => cluster.setPolicies({ network: waitingFor(readyWhen.daemonSets, 3_600) }),
    },
  ])('is not named any more once it $what', async ({ end }) => {
    const cluster = overdue(['n1']);
    await expect.poll(() => cluster.told().length).toBe(1);
    end(cluster);
    await expect.poll(cluster.told).toEqual([]);
  });

  it('is one of at most five that are named', async () => {
    const names = Array.from({ length: 7 }, (_, index) => `n${index}`);
    const { told, remove } = overdue(names);
    const texts = names.map((name) => textOn(name, 'it has no pod on the node'));
    await expect.poll(told).toEqual([stalled('network', [...texts.slice(0, 4), 'and 3 more'].join('; '))]);
    remove('n0');
    remove('n1');
    await expect.poll(told).toEqual([stalled('network', texts.slice(2).join('; '))]);
  });

  it('is named by each policy that requires the taint, and by no other', async () => {
    const other = { ...waitingFor(readyWhen.daemonSets), nodeSelector: { matchLabels: { pool: 'gpu' } } };
    const text = textOn('n1', 'it has no pod on the node');
    const { told } = overdue(['n1'], 700, { ...POLICIES, both: waitingFor(readyWhen.daemonSets), other });
    await expect.poll(told).toEqual([stalled('both', text), stalled('network', text)]);
  });

  it('has a message that the status has room for', async () => {
    const name = 'x'.repeat(252);
    const daemonSets = Array.from({ length: 8 }, (_, index) => ({
      namespace: 'n'.repeat(63),
      name: `${index}${name}`,
    }));
    const { told } = overdue(['n1'], 700, { network: waitingFor(daemonSets) });
    const ofNode = () => told().find(({ reason }) => reason === 'StartupTaintDeadlineExceeded')?.message;
    await expect.poll(ofNode).toMatch(/waits for DaemonSet n+\/0x+: it does not exist, .*\.\.\.$/);
    expect(ofNode()?.length).toBeLessThan(1_000);
  });
});

describe('the pods of a DaemonSet that nodes wait for', () => {
  const WATCH = 'WATCH /api/v1/namespaces/kube-system/pods?app=cilium';
  const textOf = (cluster: Cluster, name = 'n1') => cluster.startupOn(name);

  it('are listed and watched once for all nodes, and only once a node waits', async () => {
    const cluster = lead([{ ...registered('old'), value: { ...registered('old').value, taints: [], createdAt: 0 } }]);
    const names = Array.from({ length: 40 }, (_, index) => `n${index}`);
    cluster.register(registered('other', [NOT_READY]));
    await expect.poll(() => stateOf(cluster, 'other')).toBe('Waiting');
    for (const name of names) cluster.register(registered(name));
    await expect.poll(() => names.map((name) => stateOf(cluster, name))).toEqual(names.map(() => 'Waiting'));
    for (const name of names) cluster.daemonPods.put(daemonPod(true, name));
    await expect.poll(() => names.map((name) => stateOf(cluster, name))).toEqual(names.map(() => 'Removed'));
    expect(carries(cluster, 'other')).toBe(true);
    const ofPods = cluster.requests.filter((request) => request.includes('/pods'));
    expect(ofPods).toEqual(['GET /api/v1/namespaces/kube-system/pods', WATCH]);
  });

  it('are not watched while no node waits', async () => {
    const cluster = lead([registered('n1', [])]);
    await expect.poll(() => stateOf(cluster)).toBe('Missed');
    expect(cluster.requests.filter((request) => request.includes('/pods'))).toEqual([]);
  });

  it('count where they are: on this node, created after it, not deleted', async () => {
    const cluster = lead([registered('n1')]);
    await expect.poll(() => textOf(cluster)).toContain('it has no pod on the node');
    cluster.daemonPods.put(daemonPod(true, 'n2'), daemonPod(true, ''));
    cluster.daemonPods.put(daemonPod(false));
    await expect.poll(() => textOf(cluster)).toContain('its pod is not Ready');
    cluster.daemonPods.remove('cilium-n1');
    await expect.poll(() => textOf(cluster)).toContain('it has no pod on the node');
    const unbound = { ...daemonPod(true), spec: {} };
    cluster.daemonPods.put(unbound);
    cluster.daemonPods.put(daemonPod(true));
    await expect.poll(() => stateOf(cluster)).toBe('Removed');
  });

  it('are not known until they have been listed', async () => {
    const cluster = lead([registered('n1')], { refusesPods: true });
    cluster.daemonPods.put(daemonPod(true));
    await expect.poll(() => textOf(cluster)).toContain('which were not checked');
    cluster.daemonPods.refuse(undefined);
    await expect.poll(() => stateOf(cluster)).toBe('Removed');
  });

  it('are watched anew for another DaemonSet of that name, and not once it is deleted', async () => {
    const cluster = lead([registered('n1')]);
    await expect.poll(cluster.daemonPods.watching).toBe(1);
    const other = { ...CILIUM, uid: 'other-uid' };
    cluster.setDaemonSet(CILIUM, other);
    await expect.poll(() => cluster.requests.filter((request) => request === WATCH)).toHaveLength(2);
    cluster.daemonPods.put(daemonPod(true));
    await expect.poll(() => textOf(cluster)).toContain('it has no pod on the node');
    expect(cluster.daemonPods.watching()).toBe(1);
    cluster.setDaemonSet(other, undefined);
    await expect.poll(cluster.daemonPods.watching).toBe(0);
    await expect.poll(() => textOf(cluster)).toContain('it does not exist');
    expect(carries(cluster)).toBe(true);
  });

  it.each<{ what: string; end: (cluster: Cluster) => void; text: string | undefined }>([
    { what: 'once no policy names it', end: (cluster) => cluster.setPolicies({}), text: undefined },
    {
      what: 'once the leader loses the permission to watch pods',
      end: (cluster) => cluster.setRights(false),
      text: 'startup taint example.com/network:NoSchedule waits for its DaemonSets, which were not checked',
    },
  ])('are not watched $what', async ({ end, text }) => {
    const cluster = lead([registered('n1')]);
    await expect.poll(cluster.daemonPods.watching).toBe(1);
    const watched = () => cluster.metric('taintkeeper_watch_connected');
    await expect.poll(watched).toContain('resource="startup-pods"} 1');
    end(cluster);
    await expect.poll(cluster.daemonPods.watching).toBe(0);
    await expect.poll(() => textOf(cluster)).toBe(text);
    expect(await watched()).not.toContain('startup-pods');
  });
});
