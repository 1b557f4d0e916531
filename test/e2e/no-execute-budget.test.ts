import { afterAll, beforeAll, expect, it } from 'vitest';
import { GRACE_MS } from '../../src/evictions/no-execute-budget.ts';
import { STRATEGIC_MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { NAMESPACE } from '../control-plane/replicas.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createTaintPolicy, metricOf } from './drift.ts';
import { type Installation, install, leaderOf } from './installation.ts';
import { type Attempt, attempt, kubectl, path, taintsOf } from './nodes.ts';

const MAX_NODES = 3;
const OUT = { key: 'example.com/out', effect: 'NoExecute' };
const OUT_TEXT = 'example.com/out:NoExecute';
const NAMES = Array.from({ length: 50 }, (_, index) => `n${index}`);
const LEDGER = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/taintkeeper-noexecute`;
const PODS = '/api/v1/namespaces/default/pods';
const TIMEOUT_MS = 30_000;

describeWithControlPlane('a budget of three nodes with a NoExecute taint, of fifty', {}, (cp) => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await install(cp(), ['listPods']);
    for (const name of NAMES) {
      const metadata = { name, labels: { pool: 'out' } };
      expect((await attempt(cp(), admin, 'POST', '/api/v1/nodes', { metadata })).error).toBe('');
    }
    await attempt(cp(), admin, 'POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
    await installation.start(['a', 'b']);
    await createTaintPolicy(cp(), 'out', {
      mode: 'Deny',
      taints: [{ key: 'example.com/*', effect: 'NoExecute', ensure: 'Nothing' }],
      noExecute: { maxNodes: MAX_NODES },
    });
    await installation.proxy.waitForReady('a', 'b');
    // Before the webhook is registered, updates pass; then, until the leader has counted, none does.
    await waitUntil(async () => (await placesOf('out')) !== undefined || undefined, {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => 'the nodes are not counted',
    });
    await waitUntil(async () => (await isAsked()) || undefined, {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => 'the webhook is not asked about added taints',
    });
  });
  afterAll(() => installation?.stop());

  const taint = (name: string, query = ''): Promise<Attempt> =>
    attempt(cp(), admin, 'PATCH', `${path(name)}${query}`, { spec: { taints: [OUT] } }, STRATEGIC_MERGE_PATCH);

  async function placesOf(policy: string): Promise<string[] | undefined> {
    const { body } = await cp().request<{ metadata?: { annotations?: Record<string, string> } }>(admin, 'GET', LEDGER);
    const text = body.metadata?.annotations?.['taintkeeper.dev/places'];
    const found = (JSON.parse(text ?? '{}') as Record<string, { nodes: object }>)[policy];
    return found && Object.keys(found.nodes).sort();
  }

  async function carriers(): Promise<string[]> {
    const found = await Promise.all(
      NAMES.map(async (name) => ((await taintsOf(cp(), name)).includes(OUT_TEXT) ? [name] : [])),
    );
    return found.flat().sort();
  }

  /** Whether the API server has the conditions of the policy: that shows on a replica's count of dry runs. */
  async function isAsked(): Promise<boolean> {
    const count = async () => {
      const counts = await Promise.all(
        [...installation.replicas.values()].map((replica) =>
          metricOf(replica, 'taintkeeper_admission_dry_runs_total{path="validate"}'),
        ),
      );
      return counts.reduce<number>((sum, one) => sum + (one ?? 0), 0);
    };
    const before = await count();
    expect(await taint('n0', '?dryRun=All')).toMatchObject({ passed: true });
    return (await count()) > before;
  }

  it('lets three pass of fifty updates at the same time, on two replicas, and refuses the others', async () => {
    const attempts = await Promise.all(NAMES.map((name) => taint(name)));
    const passed = NAMES.filter((_, index) => attempts[index]?.passed).sort();
    expect(passed).toHaveLength(MAX_NODES);
    expect(await carriers()).toEqual(passed);
    expect(await placesOf('out')).toEqual(passed);
    for (const { error } of attempts.filter((one) => !one.passed)) {
      expect(error).toContain(`lets ${MAX_NODES} nodes carry such a taint at a time, and ${passed.join(', ')} do`);
    }
    // Both took part.
    const series = 'taintkeeper_decisions_total{kind="Node",policy="out",mode="Deny",outcome="postponed"}';
    for (const replica of installation.replicas.values()) expect(await metricOf(replica, series)).toBeGreaterThan(0);
  });

  it('says how many pods the taint would evict, and takes no place for a dry run', async () => {
    const taken = await carriers();
    const free = NAMES.find((name) => !taken.includes(name)) ?? '';
    for (const name of ['p1', 'p2']) {
      const tolerations = name === 'p2' ? [{ operator: 'Exists', tolerationSeconds: 60, effect: 'NoExecute' }] : [];
      const body = {
        metadata: { name },
        spec: { nodeName: free, tolerations, containers: [{ name: 'c', image: 'c' }] },
      };
      expect((await attempt(cp(), admin, 'POST', PODS, body)).error).toBe('');
    }
    const said = 'It would evict 1 pod from this node, and 1 more once their tolerationSeconds are over.';
    expect((await taint(free)).error).toContain(said);
    expect((await taint(free, '?dryRun=All')).error).toContain(said);
  });

  it('refuses `kubectl taint nodes --all` for each of the others', async () => {
    const { error } = await kubectl(cp(), admin, ['taint', 'nodes', '--all', '--overwrite', OUT_TEXT]);
    expect(error.split('\n').filter((line) => line.includes('may not get taint'))).toHaveLength(
      NAMES.length - MAX_NODES,
    );
    expect(await carriers()).toHaveLength(MAX_NODES);
  });

  it('holds while the leader is gone, and its place is free some time after a taint was taken off', {
    timeout: GRACE_MS + 2 * TIMEOUT_MS,
  }, async () => {
    const leader = await leaderOf(cp());
    await installation.replica(leader).kill();
    installation.proxy.remove(leader);
    installation.replicas.delete(leader);
    const attempts = await Promise.all(NAMES.map((name) => taint(name)));
    expect(attempts.filter(({ passed }) => passed)).toHaveLength(MAX_NODES);
    expect(await carriers()).toHaveLength(MAX_NODES);

    const [first = ''] = await carriers();
    expect((await kubectl(cp(), admin, ['taint', 'nodes', first, `${OUT_TEXT}-`])).error).toBe('');
    await waitUntil(async () => !(await placesOf('out'))?.includes(first) || undefined, {
      timeoutMs: GRACE_MS + TIMEOUT_MS,
      otherwise: () => `${first} still has its place`,
    });
    const again = await Promise.all(NAMES.filter((name) => name !== first).map((name) => taint(name)));
    expect(again.filter(({ passed }) => passed)).toHaveLength(MAX_NODES);
    expect(await carriers()).toHaveLength(MAX_NODES);
  });
});
