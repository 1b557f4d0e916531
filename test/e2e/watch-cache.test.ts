import { expect, it, onTestFinished } from 'vitest';
import { WATCH_TIMINGS } from '../../src/cluster/watch/watch-timings.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { dialPort, listenTcp } from '../control-plane/tcp-listener.ts';
import { startTcpProxy } from '../control-plane/tcp-proxy.ts';
import { admin, developer } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import {
  BOUND_MS,
  createPlainNodes,
  deleteNodes,
  labelNode,
  NODES,
  pausesSince,
  SHORT,
  timeUntil,
  untilRight,
  watchObjects,
} from './watched-nodes.ts';

const names = (count: number, prefix = 'n') => Array.from({ length: count }, (_, index) => `${prefix}${index}`);
/** How much a stall of the machine can add to a pause. If the first pause were the longest one, it would last 5 s or more, and the test would fail. */
const STALL_MS = 3_000;
const LONGEST_WATCH_MS = (SHORT.watchMs ?? 0) + (SHORT.graceMs ?? 0);

/** What happens to a cluster behind the back of a cache that was connected before. */
async function changeMuch(cp: ControlPlane): Promise<void> {
  await labelNode(cp, 'n0', 'changed');
  await deleteNodes(cp, ['n1', 'n2']);
  await createPlainNodes(cp, ['n2', 'new'], { v: 'replaced' });
}

const MUCH = ['added n2', 'added new', 'deleted n1', 'deleted n2', 'modified n0'];

async function removeAllNodes(cp: ControlPlane): Promise<void> {
  const { body } = await cp.request<{ items: { metadata: { name: string } }[] }>(admin, 'GET', NODES);
  await deleteNodes(
    cp,
    body.items.map(({ metadata }) => metadata.name),
  );
}

/** The first pages of lists. A list with a limit of 1 only asks for the version. */
const begunLists = ({ client }: Awaited<ReturnType<typeof watchObjects>>) =>
  client.lists.filter(({ query }) => query.limit !== 1 && query.continue === undefined);

describeWithControlPlane('watch cache', {}, (cp) => {
  it('lists hundreds of nodes page by page, and follows their changes in order', async () => {
    onTestFinished(() => removeAllNodes(cp()));
    await createPlainNodes(cp(), names(300));
    const watched = await watchObjects(cp(), { pageSize: 40 });
    await watched.cache.synced;
    expect(watched.cache.size).toBe(300);
    expect(watched.changes).toHaveLength(300);
    expect(watched.client.lists).toHaveLength(8);
    watched.changes.length = 0;

    await labelNode(cp(), 'n7', 'one');
    await createPlainNodes(cp(), ['late']);
    await labelNode(cp(), 'n7', 'two');
    await deleteNodes(cp(), ['n8']);
    await untilRight(cp(), watched);
    expect(watched.changes).toEqual(['modified n7', 'added late', 'modified n7', 'deleted n8']);
    expect(watched.values()).toMatchObject({ n7: 'two', late: '' });
  });

  it('tells a node that was replaced under its name as deleted and added', async () => {
    onTestFinished(() => removeAllNodes(cp()));
    await createPlainNodes(cp(), ['n0']);
    const watched = await watchObjects(cp());
    await watched.cache.synced;
    const before = watched.cache.get('n0')?.uid;
    await deleteNodes(cp(), ['n0']);
    await createPlainNodes(cp(), ['n0']);
    await untilRight(cp(), watched);
    expect(watched.changes).toEqual(['added n0', 'deleted n0', 'added n0']);
    expect(watched.cache.get('n0')?.uid).not.toBe(before);
  });

  it('learns from bookmarks where to go on while only other objects change', async () => {
    onTestFinished(() => removeAllNodes(cp()));
    const watched = await watchObjects(cp(), { labelSelector: 'v=none' });
    await watched.cache.synced;
    const before = watched.cache.lastCurrent() ?? 0;
    const { watches } = watched.client;
    const version = (watch: number) => Number(watches.at(watch)?.resourceVersion);
    let others = 0;
    await waitUntil(
      async () => {
        // A bookmark tells of what came after its watch began, and may come before that: every watch gets something to tell of.
        if (others < watches.length) await createPlainNodes(cp(), [`other-${others++}`]);
        return version(-1) > version(0) || undefined;
      },
      { timeoutMs: BOUND_MS, otherwise: () => `no watch went on from a later version: ${JSON.stringify(watches)}` },
    );
    expect(watched.cache.lastCurrent()).toBeGreaterThan(before);
    expect(watched.changes).toEqual([]);
    expect(watched.client.lists).toHaveLength(1);
  });

  it('reads the nodes and follows them in one request, except where the API server has that switched off (1.33)', async () => {
    onTestFinished(() => removeAllNodes(cp()));
    await createPlainNodes(cp(), names(30));
    const watched = await watchObjects(cp(), { isStreamed: true });
    await watched.cache.synced;
    expect(watched.cache.size).toBe(30);
    expect(watched.client.lists).toHaveLength(cp().version.minor === 33 ? 2 : 0);
    await labelNode(cp(), 'n7', 'one');
    await deleteNodes(cp(), ['n8']);
    await untilRight(cp(), watched);
    expect(watched.changes.slice(-2)).toEqual(['modified n7', 'deleted n8']);
    // The later watches continue.
    await timeUntil(
      () => watched.client.watches.some(({ resourceVersion }) => resourceVersion !== undefined),
      () => 'the watch does not go on',
    );
  });

  it('waits for a CustomResourceDefinition', async () => {
    const watched = await watchObjects(cp(), { path: '/apis/test.example/v1/things' });
    await timeUntil(
      () => watched.client.lists.length > 3,
      () => 'it did not ask again',
    );
    expect(watched.logged()).toEqual([expect.stringContaining('is the CustomResourceDefinition installed?')]);

    const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    const spec = {
      group: 'test.example',
      scope: 'Cluster',
      names: { plural: 'things', kind: 'Thing' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    };
    const body = { metadata: { name: 'things.test.example' }, spec };
    await cp().request(admin, 'POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { body });
    await watched.cache.synced;
    const thing = { apiVersion: 'test.example/v1', kind: 'Thing', metadata: { name: 't', labels: { v: 'seen' } } };
    await cp().request(admin, 'POST', '/apis/test.example/v1/things', { body: thing });
    await timeUntil(
      () => watched.cache.get('t')?.value === 'seen',
      () => 'the object was not seen',
    );
    await cp().request(
      admin,
      'DELETE',
      `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${body.metadata.name}`,
    );
    await timeUntil(
      () => watched.cache.size === 0,
      () => 'the object is still there',
    );
  });

  it('says which rule it lacks, and goes on when it gets it', async () => {
    const path = '/api/v1/namespaces/default/secrets';
    const watched = await watchObjects(cp(), { path, user: developer });
    await timeUntil(
      () => watched.client.lists.length > 3,
      () => 'it did not ask again',
    );
    expect(watched.logged()).toEqual([
      expect.stringContaining(
        'a Role in namespace default with apiGroups [""], resources ["secrets"], verbs ["list", "watch"]',
      ),
    ]);
    const role = ['create', 'role', 'reader', '--namespace=default', '--resource=secrets', '--verb=list,watch'];
    const binding = [
      'create',
      'rolebinding',
      'reader',
      '--namespace=default',
      '--role=reader',
      `--user=${developer.name}`,
    ];
    for (const args of [role, binding]) expect(await cp().kubectl(args)).toMatchObject({ code: 0 });
    await watched.cache.synced;
  });
});

describeWithControlPlane('watch cache: faults', {}, (cp) => {
  const prepare = async () => {
    onTestFinished(() => removeAllNodes(cp()));
    await createPlainNodes(cp(), names(30));
  };

  it('starts a list over whose rest was compacted away', async () => {
    await prepare();
    let compacted = false;
    const watched = await watchObjects(cp(), {
      pageSize: 10,
      // A list in two states is followed by another one.
      timings: { ...SHORT, relistMs: 1_000 },
      async beforeList(query) {
        if (!query.continue || compacted) return;
        compacted = true;
        await changeMuch(cp());
        await cp().compactEtcd();
        // Its memory holds lists of the past.
        await cp().restartComponent('kube-apiserver', 'SIGKILL');
      },
    });
    await watched.cache.synced;
    expect(watched.client.lists.map(({ status }) => status)).toContain(410);
    await untilRight(cp(), watched);
    expect(watched.logged()).toEqual([]);
    // The first ten in the order of names: n0, n1, n10 to n17. They were told as they were, and then what became of them.
    const added = [...names(30), 'new'].map((name) => `added ${name}`);
    expect(watched.changes.sort()).toEqual([...added, 'deleted n1', 'modified n0'].sort());
  });

  it.each(['SIGTERM', 'SIGKILL'] as const)('recovers after a restart of the API server (%s)', async (ending) => {
    await prepare();
    const watched = await watchObjects(cp());
    await watched.cache.synced;
    watched.changes.length = 0;
    const began = performance.now();
    await cp().restartComponent('kube-apiserver', ending);
    await changeMuch(cp());
    await untilRight(cp(), watched);
    const pauses = pausesSince(watched.client, began);
    expect(pauses).not.toEqual([]);
    // Pauses double, and are shortened to at least a half: none is longer than twice the time before it and the shortest pause.
    for (const { afterMs, pauseMs } of pauses)
      expect(pauseMs, JSON.stringify(pauses)).toBeLessThan(WATCH_TIMINGS.backOffMinMs + 2 * afterMs + STALL_MS);
    expect(watched.changes.sort()).toEqual(MUCH);
  });

  it('recovers within the time of one watch from connections that are dead but not closed', async () => {
    await prepare();
    const listener = await listenTcp(() => dialPort(Number(new URL(cp().url).port)));
    onTestFinished(() => listener.close());
    const watched = await watchObjects(cp(), { through: `https://127.0.0.1:${listener.port}` });
    await watched.cache.synced;
    await timeUntil(
      () => watched.client.watches.length === 1,
      () => 'there is no watch',
    );
    watched.changes.length = 0;
    for (const made of listener.relays()) made.freeze();
    await changeMuch(cp());
    await untilRight(cp(), watched);
    // That watch was given up as soon as it should have ended; the next one told all.
    expect(watched.client.watches).toHaveLength(2);
    expect(watched.changes.sort()).toEqual(MUCH);
    expect(begunLists(watched)).toHaveLength(1);
    const [, lasted = ''] =
      /the connection is dead: the watch went on for (\d+) ms/.exec(watched.logged()[0] ?? '') ?? [];
    expect(Number(lasted)).toBeGreaterThan(0);
    expect(Number(lasted)).toBeLessThanOrEqual(LONGEST_WATCH_MS);
  });

  it('shows all that happened when nothing got through for a while', async () => {
    await prepare();
    await using proxy = await startTcpProxy(cp().url);
    const watched = await watchObjects(cp(), { through: proxy.url });
    await watched.cache.synced;
    watched.changes.length = 0;
    proxy.pause();
    await changeMuch(cp());
    await timeUntil(
      () => watched.logged().length > 0,
      () => 'the outage was not noticed',
    );
    expect(watched.cache.size).toBe(30);
    const before = watched.client.watches.length;
    proxy.resume();
    await untilRight(cp(), watched);
    // It took no second one.
    expect(watched.client.watches.length - before).toBeLessThanOrEqual(1);
    expect(watched.changes.sort()).toEqual(MUCH);
  });

  it('lists anew when etcd was compacted and the API server restarted meanwhile', async () => {
    await prepare();
    await using proxy = await startTcpProxy(cp().url);
    const watched = await watchObjects(cp(), { through: proxy.url });
    await watched.cache.synced;
    watched.changes.length = 0;
    proxy.pause();
    await changeMuch(cp());
    await cp().compactEtcd();
    await cp().restartComponent('kube-apiserver', 'SIGKILL');
    proxy.dropConnections();
    const before = watched.client.watches.length;
    proxy.resume();
    await untilRight(cp(), watched);
    // One from where it was, which is gone, and one from the list.
    expect(watched.client.watches.length - before).toBeLessThanOrEqual(2);
    expect(watched.changes.sort()).toEqual(MUCH);
    expect(begunLists(watched)).toHaveLength(2);
  });
});
