import { describe, expect, it } from 'vitest';
import { poolReview } from '../../../../src/controllers/node-pools/pool-review.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import type { RecordedEvent } from '../../../../src/policy/reporting/recorded-event.ts';
import type { OptionalRight } from '../../../../src/policy/required-rights.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import { createSubject } from '../../../../src/runtime/source.ts';
import { captureLog } from '../../captured-log.ts';
import { answer, clientFor, refusal, startFakeApi } from '../../cluster/client/fake-api.ts';
import { rule } from '../../judge/node-drifts.ts';
import { policySet } from '../../policy/policies.ts';
import { nodeEntry } from '../nodes/node-entries.ts';

const PRESENT = rule('Restore', { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' });
const NODE_POOLS = '/apis/karpenter.sh/v1/nodepools';
const KARPENTER = { 'karpenter.sh': ['v1'] };
const CLUSTER_API = { 'cluster.x-k8s.io': ['v1beta1', 'v1beta2'] };

const nodePool = (taints: object[] = []) => ({ metadata: { name: 'gpu' }, spec: { template: { spec: { taints } } } });
const DECLARED = nodePool([{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }]);
const workers = (clusterName: string) => ({
  metadata: {
    name: `workers-${clusterName}`,
    namespace: 'clusters',
    annotations: { 'cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size': '3' },
  },
  spec: { clusterName },
});

const IN_POOL = { 'karpenter.sh/nodepool': 'gpu' };
const CSI: Taint = { key: 'ebs.csi.aws.com/agent-not-ready', effect: 'NoExecute' };

interface Setting {
  /** Versions by group. */
  readonly served?: Readonly<Record<string, readonly string[] | 'hidden'>>;
  readonly objects?: Record<string, object[]>;
  /** undefined: not asked for yet. */
  readonly permitted?: Partial<Record<OptionalRight, boolean | undefined>>;
  readonly policy?: TaintPolicySpec;
  /** Of the only node. */
  readonly machineCluster?: string;
}

async function start(setting: Setting) {
  const { served = {}, objects = {}, policy = PRESENT, machineCluster } = setting;
  const permitted = setting.permitted ?? { listNodePools: true, listMachineDeployments: true };
  const api = await startFakeApi(({ path }, response) => {
    const group = path.split('/')[2] ?? '';
    const versions = served[group];
    if (path === `/apis/${group}`) {
      if (versions === 'hidden') return answer(response, refusal(403, 'Forbidden', 'not you'), 403);
      return versions
        ? answer(response, { versions: versions.map((version) => ({ version })) })
        : answer(response, refusal(404, 'NotFound', 'none'), 404);
    }
    const items = objects[path];
    return items
      ? answer(response, { metadata: { resourceVersion: '1' }, items })
      : answer(response, refusal(404, 'NotFound', 'none'), 404);
  });
  const events: RecordedEvent[] = [];
  const { log, lines } = captureLog();
  let changes = 0;
  const entry = nodeEntry('n1');
  const snapshot = { policies: [], compiled: policySet({ taint: { p: policy } }), versions: new Set<string>() };
  const options = {
    client: (await clientFor(api.url)).client,
    policies: { snapshot: () => snapshot, changes: createSubject() },
    nodes: {
      entries: () => [{ ...entry, value: { ...entry.value, ...(machineCluster ? { machineCluster } : {}) } }].values(),
      changes: createSubject<never>(),
      synced: Promise.resolve(),
    },
    rights: { permits: (right: OptionalRight) => permitted[right], changes: createSubject() },
    recordEvent: (event: RecordedEvent) => void events.push(event),
  };
  const review = poolReview(options, log, () => changes++);
  return {
    ...review,
    events,
    logged: () => lines().map(({ msg }) => msg),
    /** The watch tells of a node. */
    show: (name: string, taints: readonly Taint[], labels: Readonly<Record<string, string>> = IN_POOL) =>
      review.see({ ...nodeEntry(name, taints).value, labels }),
    objects,
    permitted,
    state: () => review.noteOn({ kind: 'TaintPolicy', name: 'p' }),
    changes: () => changes,
    asked: () => api.received.map(({ path }) => path),
  };
}

it('tells of a pool once, looks again soon, and is silent when the template declares the taint', async () => {
  const { reconcile, state, events, changes, objects } = await start({
    served: KARPENTER,
    objects: { [NODE_POOLS]: [nodePool()] },
  });
  expect(await reconcile()).toBe(10_000);
  expect(state()).toMatchObject({
    status: 'True',
    reason: 'PoolLacksTaint',
    message: expect.stringContaining('NodePool gpu'),
  });
  expect(events).toMatchObject([{ regarding: { kind: 'TaintPolicy', name: 'p' }, reason: 'PoolLacksTaint' }]);
  await reconcile();
  expect([events.length, changes()]).toEqual([1, 1]);
  objects[NODE_POOLS] = [DECLARED];
  expect(await reconcile()).toBe(60_000);
  expect([state(), events.length, changes()]).toEqual([undefined, 1, 2]);
});

it('says nothing of what is not installed, and asks for nothing else', async () => {
  const { reconcile, state, asked } = await start({});
  await reconcile();
  expect(state()).toBeUndefined();
  expect(asked().sort()).toEqual(['/apis/cluster.x-k8s.io', '/apis/karpenter.sh']);
});

it.each<{ what: string; policy: TaintPolicySpec }>([
  { what: 'only watches', policy: { ...PRESENT, mode: 'Audit' } },
  { what: 'has no required taints', policy: rule('Restore', { key: 'dedicated' }) },
])('asks for nothing for a policy that $what', async ({ policy }) => {
  const { reconcile, asked } = await start({ served: KARPENTER, policy });
  expect(await reconcile()).toBe(60_000);
  expect(asked()).toEqual([]);
});

it('does not try what is not permitted, and says who grants it', async () => {
  const { reconcile, state, asked, permitted, events } = await start({
    served: KARPENTER,
    objects: { [NODE_POOLS]: [DECLARED] },
    permitted: { listNodePools: false },
  });
  expect(await reconcile()).toBe(60_000);
  expect(state()).toEqual({
    status: 'True',
    reason: 'PoolsNotPermitted',
    message:
      "Karpenter is installed, and taintkeeper may not list NodePools: set listNodePools: true in the chart's values, or run the commands that taintkeeper doctor prints",
  });
  expect([asked().includes(NODE_POOLS), events]).toEqual([false, []]);
  permitted.listNodePools = true;
  await reconcile();
  expect([asked().includes(NODE_POOLS), state()]).toEqual([true, undefined]);
});

it('says nothing until it is known what is permitted', async () => {
  const { reconcile, state, asked } = await start({ served: KARPENTER, permitted: {} });
  await reconcile();
  expect([asked().includes(NODE_POOLS), state()]).toEqual([false, undefined]);
});

it('says nothing where it may not read which APIs are installed', async () => {
  const { reconcile, state } = await start({ served: { 'karpenter.sh': 'hidden' } });
  await reconcile();
  expect(state()).toBeUndefined();
});

it('passes by versions of Karpenter that have other pools', async () => {
  const { reconcile, state } = await start({ served: { 'karpenter.sh': ['v1beta1'] } });
  await reconcile();
  expect(state()).toBeUndefined();
});

it('reads the machines of its own cluster, in the best version', async () => {
  const machines = '/apis/cluster.x-k8s.io/v1beta2';
  const objects = {
    [`${machines}/machinedeployments`]: [workers('here'), workers('there')],
    [`${machines}/machinesets`]: [],
  };
  const { reconcile, state } = await start({ served: CLUSTER_API, objects, machineCluster: 'clusters/here' });
  await reconcile();
  expect(state()?.message).toContain('MachineDeployment clusters/workers-here');
  expect(state()?.message).not.toContain('workers-there');
});

it('leaves a management cluster alone, whose nodes are none of those machines', async () => {
  const { reconcile, state } = await start({ served: CLUSTER_API, permitted: { listMachineDeployments: false } });
  await reconcile();
  expect(state()).toBeUndefined();
});

describe('a startup taint that no policy requires', () => {
  const NOTHING = rule('Restore', { key: 'dedicated' });
  const withStartup = (startupTaints: object[]) => ({
    metadata: { name: 'gpu', uid: 'pool-uid' },
    spec: { template: { spec: { startupTaints } } },
  });
  const lead = (pool: object, more: Setting = {}) =>
    start({ served: KARPENTER, objects: { [NODE_POOLS]: [pool] }, policy: NOTHING, ...more });

  it('is reported on the NodePool once, although no node carries it any more', async () => {
    const { reconcile, show, events, logged, asked } = await lead(withStartup([]));
    expect(show('n2', [CSI])).toBe(true);
    expect(show('n2', [])).toBe(false);
    expect(show('n3', [CSI])).toBe(false);
    await reconcile();
    const note =
      'NodePool gpu does not declare in startupTaints taint ebs.csi.aws.com/agent-not-ready:NoExecute, which node n2 carried: Karpenter takes ' +
      'it for a taint that stays; to declare it, upon which Karpenter replaces the nodes of the pool within its disruption budgets: kubectl patch ' +
      `nodepools.karpenter.sh gpu --type=json -p '[{"op":"add","path":"/spec/template/spec/startupTaints/-","value":{"key":"ebs.csi.aws.com/agent-not-ready",` +
      `"effect":"NoExecute"}}]'`;
    expect(events).toEqual([
      {
        regarding: { apiVersion: 'karpenter.sh/v1', kind: 'NodePool', name: 'gpu', uid: 'pool-uid' },
        type: 'Warning',
        reason: 'PoolLacksTaint',
        action: 'ReviewNodePools',
        note,
      },
    ]);
    expect(logged()).toEqual([note]);
    expect(show('n4', [CSI])).toBe(false);
    const before = asked().length;
    await reconcile();
    expect([events.length, asked().length]).toEqual([1, before]);
  });

  it.each<{ what: string; pool: object; taints?: readonly Taint[]; labels?: Record<string, string> }>([
    { what: 'declared', pool: withStartup([CSI]) },
    { what: 'declared as one that stays', pool: nodePool([CSI]) },
    { what: 'on a node of no pool', pool: withStartup([]), labels: {} },
    { what: 'on a node of another pool', pool: withStartup([]), labels: { 'karpenter.sh/nodepool': 'other' } },
    {
      what: 'with an effect that keeps no pod away',
      pool: withStartup([]),
      taints: [{ ...CSI, effect: 'PreferNoSchedule' }],
    },
    {
      what: 'one that Karpenter knows',
      pool: withStartup([]),
      taints: [
        { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' },
        { key: 'karpenter.sh/unregistered', effect: 'NoExecute' },
        { key: 'readiness.k8s.io/network', effect: 'NoSchedule' },
        { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' },
      ],
    },
    { what: 'no startup taint', pool: withStartup([]), taints: [{ key: 'dedicated', effect: 'NoSchedule' }] },
    { what: 'of a pool that starts no nodes for pods', pool: { metadata: { name: 'gpu' }, spec: { replicas: 3 } } },
  ])('is not reported where it is $what', async ({ pool, taints = [CSI], labels }) => {
    const { reconcile, show, events } = await lead(pool);
    show('n2', taints, labels);
    await reconcile();
    expect(events).toEqual([]);
  });

  it('of ensure: UntilReady is reported where a policy selects only some nodes of the pool', async () => {
    const taint: Taint = { key: 'example.com/network', effect: 'NoSchedule' };
    const readyWhen = { daemonSets: [{ namespace: 'kube-system', name: 'cni' }] };
    const nodeSelector = { matchLabels: { 'node.kubernetes.io/instance-type': 'p5' } };
    const policy = { ...rule('Restore', { ...taint, ensure: 'UntilReady', readyWhen } as never), nodeSelector };
    const { reconcile, show, events, state } = await lead(withStartup([]), { policy });
    await reconcile();
    expect([state(), events]).toEqual([undefined, []]);
    show('n2', [taint]);
    await reconcile();
    expect(events).toMatchObject([{ regarding: { kind: 'NodePool' }, reason: 'PoolLacksTaint' }]);
  });

  it('is reported by the condition alone where a policy selects the whole pool', async () => {
    const taint: Taint = { key: 'example.com/network', effect: 'NoSchedule' };
    const readyWhen = { daemonSets: [{ namespace: 'kube-system', name: 'cni' }] };
    const policy = rule('Restore', { ...taint, ensure: 'UntilReady', readyWhen } as never);
    const { reconcile, show, events } = await lead(withStartup([]), { policy });
    show('n2', [taint]);
    await reconcile();
    expect(events.map(({ regarding }) => regarding.kind)).toEqual(['TaintPolicy']);
  });

  it('waits until NodePools may be listed', async () => {
    const { reconcile, show, events, permitted } = await lead(withStartup([]), { permitted: { listNodePools: false } });
    show('n2', [CSI]);
    await reconcile();
    expect(events).toEqual([]);
    permitted.listNodePools = true;
    await reconcile();
    expect(events).toHaveLength(1);
  });

  describe('of a real pool is reported, whatever one node claims', () => {
    const claimed = (index: number) => ({ 'karpenter.sh/nodepool': `invented-${index}` });

    it.each([
      { what: 'thousands of pools between two lists', every: 5_000 },
      { what: 'thousands of pools over time', every: 100 },
    ])('$what', async ({ every }) => {
      const { reconcile, show, events } = await lead(withStartup([]));
      for (let index = 0; index < 2_000; index++) {
        show('evil', [CSI], claimed(index));
        if (index % every === 0) await reconcile();
      }
      show('n2', [CSI]);
      await reconcile();
      expect(events.map(({ note }) => note)).toEqual([expect.stringContaining('which node n2 carried')]);
    });

    it('thousands of startup taints', async () => {
      const { reconcile, show, events } = await lead(withStartup([]));
      const many = Array.from({ length: 2_000 }, (_, index) => ({ ...CSI, key: `a${index}.example/agent-not-ready` }));
      for (let from = 0; from < many.length; from += 100) {
        show('evil', many.slice(from));
        await reconcile();
      }
      const before = events.length;
      show('n2', [CSI]);
      await reconcile();
      expect(events.slice(before).map(({ note }) => note)).toEqual([expect.stringContaining('which node n2 carried')]);
    });
  });

  it('of a pool that did not exist is no reason to list the pools once more, and is reported once the pool exists', async () => {
    const { reconcile, show, events, objects } = await lead(withStartup([]));
    await reconcile();
    expect(show('n2', [CSI])).toBe(true);
    await reconcile();
    expect(show('n3', [CSI], { 'karpenter.sh/nodepool': 'new' })).toBe(false);
    const { spec } = withStartup([]);
    objects[NODE_POOLS]?.push({ metadata: { name: 'new', uid: 'new-uid' }, spec });
    await reconcile();
    expect(events.map(({ regarding }) => regarding.name)).toEqual(['gpu', 'new']);
  });

  it('is recorded for a thousand pools at most', async () => {
    const { show } = await lead(withStartup([]));
    const seen = Array.from({ length: 1_100 }, (_, index) =>
      show('n2', [CSI], { 'karpenter.sh/nodepool': `pool-${index}` }),
    );
    expect(seen.filter(Boolean)).toHaveLength(1_000);
  });
});
