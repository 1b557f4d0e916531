import { afterAll, beforeAll, expect, it } from 'vitest';
import type { PolicyStatus } from '../../src/policy/policy-status.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { taintkeeperAccount } from '../control-plane/replicas.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createTaintPolicy, eventsAbout, forEachNode, metricOf, waitForEvent, waitForStatus } from './drift.ts';
import { type Installation, install, leaderOf } from './installation.ts';
import { type NodeVersions, watchNodeVersions } from './node-versions.ts';
import { attempt } from './nodes.ts';

const OUT = { key: 'example.com/out', effect: 'NoExecute' };
const OUT_TEXT = 'example.com/out:NoExecute';
const ZONES = ['eu-1', 'eu-2'];
const NAMES = Array.from({ length: 1_000 }, (_, index) => `n${index}`);
/** Between two nodes of a zone, at the default rate of 0.1 nodes a second and at 0.5. */
const [DEFAULT_PERIOD_MS, PERIOD_MS] = [10_000, 2_000];
/** Requests arrive as late as they do. */
const CLOCK_MS = 100;
const SERVICE_ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts';
const PODS = '/api/v1/namespaces/default/pods';

describeWithControlPlane('a taint that evicts, new to 1,000 nodes that run', {}, (cp) => {
  let installation: Installation;
  let nodes: NodeVersions;
  const figures: string[] = [];

  beforeAll(async () => {
    installation = await install(cp(), ['listPods']);
    await forEachNode(NAMES, async (name) => {
      const zone = ZONES[Number(name.slice(1)) % ZONES.length];
      const metadata = { name, labels: { pool: 'out', 'topology.kubernetes.io/zone': zone } };
      const status = { conditions: [{ type: 'Ready', status: 'True' }] };
      expect((await attempt(cp(), admin, 'POST', '/api/v1/nodes', { metadata, status })).error).toBe('');
    });
    nodes = await watchNodeVersions(cp());
    await installation.start(['a']);
  });
  afterAll(async () => {
    await nodes?.stop();
    await installation?.stop();
    process.stderr.write(`${figures.join('\n')}\n`);
  });

  const isOut = ({ taints }: { taints: readonly string[] }) => taints.includes(OUT_TEXT);
  const waitForOut = (count: number) =>
    waitUntil(() => nodes.count(isOut) >= count || undefined, {
      timeoutMs: 60_000,
      otherwise: () => `only ${nodes.count(isOut)} nodes of ${count} have the taint`,
    });

  const evictingOf = ({ conditions = [] }: PolicyStatus) => conditions.find(({ type }) => type === 'Evicting');

  /** When taintkeeper put the taint on nodes, in milliseconds since the epoch, by zone. */
  function timesByZone(): ReadonlyMap<string, number[]> {
    const writes = cp()
      .auditLog()
      .filter(({ user, objectRef, requestObject, responseStatus }) => {
        const { spec } = (requestObject ?? {}) as { spec?: { taints?: unknown } };
        const isOwn = user.username === taintkeeperAccount.name && objectRef?.resource === 'nodes';
        return isOwn && spec?.taints !== undefined && responseStatus?.code === 200;
      });
    const zoneOf = (name = '') => nodes.of(name)[0]?.labels['topology.kubernetes.io/zone'] ?? '';
    const zones = Map.groupBy(writes, ({ objectRef }) => zoneOf(objectRef?.name));
    return new Map(
      [...zones].map(([zone, found]) => [
        zone,
        found.map(({ requestReceivedTimestamp }) => Date.parse(requestReceivedTimestamp)).sort((a, b) => a - b),
      ]),
    );
  }

  const gapsByZone = () =>
    [...timesByZone().values()].flatMap((times) => times.slice(1).map((time, index) => time - (times[index] ?? 0)));

  /** How many nodes wait for the taint. */
  const waiting = (one: PolicyStatus) => Number(/^\d+/.exec(evictingOf(one)?.message ?? '')?.[0]);
  /** Waits until the status counts all nodes but one in each zone, or fewer: every ten seconds there are two less. */
  const waitUntilPaced = () =>
    waitForStatus(cp(), 'out', (one) => waiting(one) <= 998 && waiting(one) === one.violating);

  it('reaches one in each zone at first, and the others at the default pace', async () => {
    await createTaintPolicy(cp(), 'out', { taints: [{ ...OUT, ensure: 'Always', mayEvict: true }] });
    await waitForOut(ZONES.length);
    await waitUntilPaced();
    await nodes.caughtUp();
    figures.push(`${nodes.count(isOut)} of ${NAMES.length} nodes when the status says that the others wait`);
    expect([...timesByZone().keys()].toSorted()).toEqual(ZONES);
    for (const gap of gapsByZone()) expect(gap).toBeGreaterThanOrEqual(DEFAULT_PERIOD_MS - CLOCK_MS);
  });

  it('is waited for, which status, Events and metrics say', async () => {
    const status = await waitUntilPaced();
    expect(waiting(status)).toBeGreaterThan(900);
    expect(evictingOf(status)).toMatchObject({ status: 'True', reason: 'Paced' });
    const pace = 'nodes wait for a taint that evicts pods: at most one node in 10 s in each zone';
    expect((await waitForEvent(cp(), 'out', 'EvictionsPaced')).note).toBe(pace);
    const series = 'taintkeeper_nodes_awaiting_eviction{policy="out"}';
    // It is counted once the status is written.
    const counted = () => metricOf(installation.replica('a'), series);
    await expect.poll(counted, { timeout: 30_000 }).toBeLessThanOrEqual(waiting(status));
    expect(await counted()).toBeGreaterThan(900);
    expect(await eventsAbout(cp(), 'n999', 'TaintMissing')).toEqual([]);
  });

  it('keeps its pace through three leaders in turn', async () => {
    const before = nodes.count(isOut);
    const pace = { args: ['--node-eviction-rate', '0.5'] };
    await installation.replica('a').stop();
    installation.replicas.delete('a');
    await installation.start(['b'], pace);
    for (const [next, goal] of [
      ['c', before + 4],
      ['d', before + 8],
    ] as const) {
      await waitForOut(goal);
      const leader = await leaderOf(cp());
      await installation.start([next], pace);
      await installation.replica(leader).stop();
      installation.replicas.delete(leader);
    }
    await waitForOut(before + 12);
    await nodes.caughtUp();
    const gaps = gapsByZone();
    figures.push(
      `with 0.5 nodes a second and three leaders in turn, ${gaps.length} gaps: ${Math.min(...gaps)} ms at least`,
    );
    expect(gaps.length).toBeGreaterThanOrEqual(10);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(PERIOD_MS - CLOCK_MS);
  });

  it('goes to no more nodes while a pod that came since has no node', async () => {
    const account = { metadata: { name: 'default' } };
    expect((await attempt(cp(), admin, 'POST', SERVICE_ACCOUNTS, account)).error).toBe('');
    const metadata = {
      name: 'web-1',
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'web', controller: true }],
    };
    const pod = { metadata, spec: { containers: [{ name: 'c', image: 'c' }] } };
    expect((await attempt(cp(), admin, 'POST', PODS, pod)).error).toBe('');
    const held = await waitForStatus(cp(), 'out', (status) => evictingOf(status)?.reason === 'PodsWithoutNode');
    expect(evictingOf(held)?.message).toContain('1 pod created since is unscheduled (default/web-1)');
    expect((await waitForEvent(cp(), 'out', 'EvictionsBlocked')).note).toContain('pods created since are unscheduled');
    await nodes.caughtUp();
    const then = nodes.count(isOut);
    const lastAt = Math.max(...[...timesByZone().values()].flat());
    await waitUntil(() => Date.now() - lastAt > 2 * PERIOD_MS || undefined, {
      timeoutMs: 30_000,
      otherwise: () => `the last write is of ${new Date(lastAt).toISOString()}`,
    });
    await nodes.caughtUp();
    expect(nodes.count(isOut)).toBe(then);

    const binding = { metadata: { name: 'web-1' }, target: { kind: 'Node', name: 'n999' } };
    expect((await attempt(cp(), admin, 'POST', `${PODS}/web-1/binding`, binding)).error).toBe('');
    await waitForOut(then + 1);
  });
});
