import { afterAll, beforeAll, expect, it } from 'vitest';
import { GRACE_MS } from '../../src/evictions/no-execute-budget.ts';
import { APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { NAMESPACE } from '../control-plane/replicas.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createTaintPolicy, metricOf } from './drift.ts';
import { type Installation, install, leaderOf } from './installation.ts';
import { type Attempt, attempt, getNode, kubectl, path, taintsOf } from './nodes.ts';

const MAX_NODES = 3;
const OUT = { key: 'example.com/out', effect: 'NoExecute' };
const UNREACHABLE = { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' };
/** As many as make the API server's condition a wider one. */
const MANY = Array.from({ length: 600 }, (_, index) => ({ key: `many.example.com/t${index}`, effect: 'NoSchedule' }));
const OUT_TEXT = 'example.com/out:NoExecute';
const NAMES = Array.from({ length: 50 }, (_, index) => `n${index}`);
const isOut = (taint: string) => /^example.com\/out(=\w+)?:NoExecute$/.test(taint);
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
    const budget = (maxNodes: number) => ({
      mode: 'Deny',
      taints: [{ key: 'example.com/*', effect: 'NoExecute', ensure: 'Nothing' }],
      noExecute: { maxNodes },
    });
    await createTaintPolicy(cp(), 'out', budget(MAX_NODES));
    // A further one, of which all places are taken: where it is in force, so is the one before it.
    for (const [name, taints] of [
      ['probe-1', [OUT]],
      ['probe-2', []],
    ] as const) {
      const body = { metadata: { name, labels: { pool: 'probe' } }, spec: { taints } };
      expect((await attempt(cp(), admin, 'POST', '/api/v1/nodes', body)).error).toBe('');
    }
    await createTaintPolicy(cp(), 'probe', budget(1));
    await installation.proxy.waitForReady('a', 'b');
    let last = '';
    for (let refused = 0; refused < 20; ) {
      // Asked of both replicas in turn.
      await waitUntil(
        async () => {
          last = (await taint('probe-2', '?dryRun=All')).error;
          return last.includes('1 node carry such a taint at a time, and probe-1 does') || undefined;
        },
        { timeoutMs: TIMEOUT_MS, otherwise: () => `the budget is not in force: ${last}` },
      );
      refused++;
    }
    for (const name of ['probe-1', 'probe-2']) await attempt(cp(), admin, 'DELETE', path(name), undefined);
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

  const patch = (name: string, body: object) => attempt(cp(), admin, 'PATCH', path(name), body, MERGE_PATCH);

  /** The nodes without such a taint, the last ones first. */
  async function others(): Promise<string[]> {
    const found = await carriers();
    return NAMES.filter((name) => !found.includes(name)).reverse();
  }

  async function carriers(): Promise<string[]> {
    const found = await Promise.all(
      NAMES.map(async (name) => ((await taintsOf(cp(), name)).some(isOut) ? [name] : [])),
    );
    return found.flat().sort();
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
    const [free = ''] = await others();
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

  it.each<{ what: string; write: (name: string) => Promise<Attempt> }>([
    { what: 'a merge patch', write: (name) => patch(name, { spec: { taints: [OUT] } }) },
    {
      what: 'a JSON patch',
      write: (name) =>
        attempt(cp(), admin, 'PATCH', path(name), [{ op: 'add', path: '/spec/taints', value: [OUT] }], JSON_PATCH),
    },
    {
      what: 'a PUT',
      async write(name) {
        const node = await getNode(cp(), name);
        return attempt(cp(), admin, 'PUT', path(name), { ...node, spec: { ...node.spec, taints: [OUT] } });
      },
    },
    {
      what: 'a server-side apply',
      write: (name) =>
        attempt(
          cp(),
          admin,
          'PATCH',
          `${path(name)}?fieldManager=somebody&force=true`,
          { apiVersion: 'v1', kind: 'Node', metadata: { name }, spec: { taints: [OUT] } },
          APPLY_PATCH,
        ),
    },
    {
      what: 'an update that leaves the policy at the same time',
      write: (name) => patch(name, { metadata: { labels: { pool: null } }, spec: { taints: [OUT] } }),
    },
    {
      what: 'more taints than are compared one by one',
      write: (name) => patch(name, { spec: { taints: [...MANY, OUT] } }),
    },
  ])('refuses $what, too', async ({ write }) => {
    const [name = ''] = await others();
    expect((await write(name)).error).toContain(`node ${name} may not get taint ${OUT_TEXT} now`);
  });

  it.each<{ what: string; write: () => Promise<Attempt> }>([
    {
      what: 'taints of the node life cycle',
      write: async () => patch((await others())[0] ?? '', { spec: { taints: [UNREACHABLE] } }),
    },
    {
      what: 'taints with another effect',
      write: async () => patch((await others())[0] ?? '', { spec: { taints: [{ ...OUT, effect: 'NoSchedule' }] } }),
    },
    {
      what: 'another value of a taint that is there',
      write: async () => patch((await carriers())[0] ?? '', { spec: { taints: [{ ...OUT, value: 'later' }] } }),
    },
    {
      what: 'a further taint on such a node',
      write: async () =>
        patch((await carriers())[0] ?? '', { spec: { taints: [OUT, { ...OUT, key: 'example.com/disk' }] } }),
    },
  ])('lets pass $what', async ({ write }) => {
    expect(await write()).toMatchObject({ passed: true, error: '' });
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
