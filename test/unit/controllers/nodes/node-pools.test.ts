import { expect, it } from 'vitest';
import { poolReview } from '../../../../src/controllers/nodes/node-pools.ts';
import type { RecordedEvent } from '../../../../src/kubernetes/event.ts';
import type { OptionalRight } from '../../../../src/policy/asked-rights.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import { answer, clientFor, refusal, startFakeApi } from '../../cluster/client/fake-api.ts';
import { rule } from '../../judge/node-drifts.ts';
import { policySet } from '../../policy/policies.ts';
import { nodeEntry } from './node-entries.ts';

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
  let changes = 0;
  const entry = nodeEntry('n1');
  const review = poolReview({
    client: (await clientFor(api.url)).client,
    taintPolicies: () => policySet({ taint: { p: policy } }).taintPolicies,
    nodes: {
      entries: () => [{ ...entry, value: { ...entry.value, ...(machineCluster ? { machineCluster } : {}) } }].values(),
    },
    synced: Promise.resolve(),
    rights: { permits: (right) => permitted[right] },
    record: (event) => events.push(event),
    onChange: () => changes++,
  });
  return {
    ...review,
    events,
    objects,
    permitted,
    state: () => review.undeclared({ kind: 'TaintPolicy', name: 'p' }),
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
    reason: 'Undeclared',
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
  { what: 'has no required taints', policy: rule('Restore', { key: 'dedicated', restrict: ['Removal'] }) },
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
    status: 'Unknown',
    reason: 'NotPermitted',
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

it('says nothing where nobody may ask what is installed', async () => {
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
