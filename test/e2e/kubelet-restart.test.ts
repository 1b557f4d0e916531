import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, node } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { openStream } from '../unit/page/streams.ts';
import { createTaintPolicy } from './drift.ts';
import { type Installation, install } from './installation.ts';
import { type Taint, taintsOf } from './nodes.ts';

const POOL = 'startup';
const TAINT: Taint = { key: 'example.com/preparing', effect: 'NoSchedule' };
const TAINT_TEXT = 'example.com/preparing:NoSchedule';
const NODES = '/api/v1/nodes';

describeWithControlPlane('a kubelet sends the creation of its node', {}, (cp) => {
  let installation: Installation;

  beforeAll(async () => {
    // Only a registration sets a taint of ensure: AtRegistration, so each record of it is of a creation.
    installation = await install(cp());
    await createTaintPolicy(cp(), POOL, { taints: [{ ...TAINT, ensure: 'AtRegistration' }] });
    expect((await create('existing')).status).toBe(201);
    await installation.start(['a']);
    let last: unknown;
    await waitUntil(
      async () => {
        const { warnings } = await create('probe', '?dryRun=All');
        last = warnings;
        return warnings.length > 0 || undefined;
      },
      { timeoutMs: 60_000, otherwise: () => `no taint was added: ${JSON.stringify(last)}` },
    );
  });
  afterAll(() => installation.stop());

  /** As a kubelet does when it starts. */
  function create(name: string, query = '') {
    const body = { metadata: { name, labels: { pool: POOL } } };
    return cp().request(node(name), 'POST', `${NODES}${query}`, { body });
  }

  /** A node that is a few seconds old could have been created by the request: see CREATION_TOLERANCE_MS. */
  async function waitUntilOld(name: string): Promise<void> {
    const { body } = await cp().request<{ metadata: { creationTimestamp: string } }>(admin, 'GET', `${NODES}/${name}`);
    const oldAt = Date.parse(body.metadata.creationTimestamp) + 7_000;
    await waitUntil(() => Date.now() > oldAt || undefined, { timeoutMs: 15_000, otherwise: () => 'the clock stands' });
  }

  const replica = () => installation.replica('a');

  /** How many taints were added, by the metrics. */
  async function counted(): Promise<number> {
    const found = /^taintkeeper_decisions_total\{.*result="Added".*\} (\d+)$/m.exec(await replica().metrics());
    return Number(found?.[1] ?? 0);
  }

  const logged = (name: string) =>
    replica()
      .logs()
      .filter(({ msg }) => msg.includes(`on Node ${name}:`)).length;

  /** The names of all nodes of decisions on the page, up to a decision on one node. */
  async function decidedUntil(last: string): Promise<string[]> {
    const stream = await openStream(`${replica().adminUrl}/api/events`);
    const names: string[] = [];
    while (names.at(-1) !== last) names.push(String((await stream.nextDecision()).name));
    return names;
  }

  async function eventsOn(name: string): Promise<number> {
    const { body } = await cp().request<{ items: { regarding: { name: string }; note: string }[] }>(
      admin,
      'GET',
      '/apis/events.k8s.io/v1/namespaces/default/events',
    );
    return body.items.filter(({ regarding, note }) => regarding.name === name || note.startsWith(`Node ${name}:`))
      .length;
  }

  /** Registers a new node, and waits for all its records, Events last. Those of requests before it would have been written. */
  async function registerMarker(name: string): Promise<void> {
    expect((await create(name)).status).toBe(201);
    await waitUntil(async () => (logged(name) > 0 && (await eventsOn(name)) === 2) || undefined, {
      timeoutMs: 30_000,
      otherwise: () => `there is no record of node ${name}`,
    });
  }

  it('of a new node: it is recorded once everywhere', async () => {
    const before = await counted();
    await registerMarker('new');
    expect(await taintsOf(cp(), 'new')).toEqual([TAINT_TEXT]);
    expect([logged('new'), (await counted()) - before]).toEqual([1, 1]);
    expect(await decidedUntil('new')).toContain('new');
  });

  it.each<[what: string, name: string, query: string, status: number]>([
    ['a node that existed before: the kubelet restarted', 'existing', '', 409],
    ['a node that was created a moment ago, and recorded: the kubelet restarted at once', 'new', '', 409],
    ['a dry run', 'tried', '?dryRun=All', 201],
  ])('of %s: nothing is recorded', async (_what, name, query, status) => {
    const records = async () => [logged(name), await eventsOn(name)];
    const [before, recorded] = [await counted(), await records()];
    if (name === 'existing') await waitUntilOld(name);
    expect(await create(name, query)).toMatchObject({ status, warnings: [expect.stringContaining(TAINT_TEXT)] });

    const marker = `after-${name}`;
    await registerMarker(marker);
    expect([(await counted()) - before, await records()]).toEqual([1, recorded]);
    const decided = await decidedUntil(marker);
    expect(decided.filter((one) => one === name)).toHaveLength(name === 'new' ? 1 : 0);
  });
});
