import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { formatLedger } from '../../../../src/cluster/lease/budget-ledger.ts';
import type { Change, Entry } from '../../../../src/cluster/watch/cached-objects.ts';
import { startBudgetPlaces } from '../../../../src/controllers/nodes/budget-places.ts';
import type { ClusterNode } from '../../../../src/controllers/sources.ts';
import { type BudgetPolicy, budgetId, GRACE_MS } from '../../../../src/evictions/no-execute-budget.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import { createSubject } from '../../../../src/runtime/source.ts';
import { createMetrics } from '../../../../src/server/metrics.ts';
import { captureLog } from '../../captured-log.ts';
import { ledgerServer } from '../../cluster/ledger-server.ts';
import { policySet } from '../../policy/policies.ts';
import { nodeEntry } from './node-entries.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse('2026-01-01T12:00:00Z') });
});
afterEach(() => {
  vi.useRealTimers();
});
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const PROMPT_MS = 500;
const out = { key: 'out', effect: 'NoExecute' };
const SPEC: TaintPolicySpec = {
  mode: 'Deny',
  nodeSelector: { matchLabels: { pool: 'a' } },
  taints: [{ key: 'out', ensure: 'Nothing' }],
  noExecute: { maxNodes: 2 },
};

function start(carriers: readonly string[] = [], spec = SPEC) {
  const server = ledgerServer();
  const cluster = new Map<string, Entry<ClusterNode>>();
  const news = createSubject();
  const policyChanges = createSubject();
  const stopping = new AbortController();
  let compiled = policySet({ taint: { out: spec } });
  /** As the API server has the node, and as the watch shows it. */
  const show = (name: string, taints: readonly object[], { watched = true, pool = 'a' } = {}) => {
    server.nodes.set(name, { metadata: { name, labels: { pool } }, spec: { taints } });
    if (!watched) return;
    const entry = nodeEntry(name);
    cluster.set(name, { ...entry, value: { ...entry.value, labels: { pool }, taints: taints as (typeof out)[] } });
    news.next();
  };
  for (const name of carriers) show(name, [out]);
  const controller = startBudgetPlaces({
    client: server.client,
    namespace: 'taintkeeper',
    lease: 'taintkeeper',
    nodes: {
      get: (name) => cluster.get(name),
      entries: () => cluster.values(),
      changes: createSubject<Change<ClusterNode>>(),
      news,
    },
    synced: Promise.resolve(),
    policies: { snapshot: () => ({ policies: [], compiled, versions: new Set() }), changes: policyChanges },
    metrics: createMetrics('test'),
    log: captureLog().log,
    signal: stopping.signal,
  });
  onTestFinished(() => {
    stopping.abort();
    return controller.stop();
  });
  const policy = () => compiled.taintPolicies[0] as BudgetPolicy;
  return {
    server,
    show,
    places: () => server.places('out').toSorted(),
    /** A replica gives a place. */
    give(...nodes: readonly string[]) {
      const all = [
        ...server.places('out').map((node) => [node, 0] as const),
        ...nodes.map((node) => [node, Date.now()] as const),
      ];
      server.put(formatLedger(new Map([['out', { id: budgetId(policy()), nodes: new Map(all) }]])));
    },
    setPolicy(next: TaintPolicySpec) {
      compiled = policySet({ taint: { out: next } });
      policyChanges.next();
    },
    writes: () => server.requests.filter((one) => /^(PUT|POST)/.test(one)).length,
  };
}

it('the nodes that carry such a taint have a place, those that the policy is not for have none', async () => {
  const { show, places } = start(['n1']);
  show('elsewhere', [out], { pool: 'b' });
  show('other', [{ key: 'out', effect: 'NoSchedule' }]);
  await pass(PROMPT_MS);
  expect(places()).toEqual(['n1']);
});

it('a place that nobody uses is free after a while, and not before', async () => {
  const { show, places, give } = start();
  await pass(PROMPT_MS);
  show('n1', []);
  give('n1');
  await pass(GRACE_MS - 1_000);
  expect(places()).toEqual(['n1']);
  await pass(20_000);
  expect(places()).toEqual([]);
});

it('a place is free as soon as the taint is gone, if it was not given lately', async () => {
  const { show, places } = start(['n1', 'n2']);
  await pass(2 * GRACE_MS);
  expect(places()).toEqual(['n1', 'n2']);
  show('n1', []);
  await pass(PROMPT_MS);
  expect(places()).toEqual(['n2']);
});

it('but not while the API server still says that the node carries the taint', async () => {
  const { server, show, places } = start(['n1']);
  await pass(PROMPT_MS);
  show('n1', []);
  server.nodes.set('n1', { metadata: { name: 'n1', labels: { pool: 'a' } }, spec: { taints: [out] } });
  await pass(2 * GRACE_MS);
  expect(places()).toEqual(['n1']);
  show('n1', []);
  await pass(20_000);
  expect(places()).toEqual([]);
});

it('a place of a node that is gone is free', async () => {
  const { places, give } = start();
  await pass(PROMPT_MS);
  give('gone');
  await pass(GRACE_MS + 20_000);
  expect(places()).toEqual([]);
});

it('what replicas give meanwhile is not overwritten', async () => {
  const { server, show, places, give } = start();
  await pass(PROMPT_MS);
  server.before = (method) => {
    if (method !== 'PUT') return;
    server.before = () => {};
    give('n7');
  };
  show('n1', [out]);
  await pass(2 * PROMPT_MS);
  expect(places()).toEqual(['n1', 'n7']);
});

it('where nothing changes, nothing is written', async () => {
  const { writes, show } = start(['n1']);
  await pass(PROMPT_MS);
  const before = writes();
  for (let time = 0; time < 20; time++) {
    show('n9', []);
    await pass(10_000);
  }
  expect(writes()).toBe(before);
});

it('a policy without a budget costs no request', async () => {
  const { noExecute: _, ...spec } = SPEC;
  const { server } = start(['n1'], { ...spec, taints: [{ key: 'out' }] });
  await pass(60_000);
  expect(server.requests).toEqual([]);
});

it('another selector is counted at once', async () => {
  const { show, places, setPolicy } = start(['n1']);
  show('n2', [out], { pool: 'b' });
  await pass(2 * GRACE_MS);
  setPolicy({ ...SPEC, nodeSelector: { matchLabels: { pool: 'b' } } });
  await pass(PROMPT_MS);
  expect(places()).toEqual(['n2']);
});
