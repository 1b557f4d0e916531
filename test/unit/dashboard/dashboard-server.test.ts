import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Registry } from '@prometheus-io/client';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startDashboard } from '../../../src/dashboard/dashboard-server.ts';
import { givenReplicas, type Replica, type Replicas, replicaAt } from '../../../src/dashboard/reachable-replicas.ts';
import { InputError } from '../../../src/files/text-files.ts';
import { createAdminServer } from '../../../src/server/admin-server.ts';
import { eventually } from '../eventually.ts';
import { type OpenStream, openStream } from '../page/streams.ts';
import { startReplica } from './replicas.ts';

async function dashboardOf(find: () => Promise<Replicas>, options: { answerMs?: number } = {}) {
  const told: string[] = [];
  const log = {
    warn: (message: string) => void told.push(message),
    info: (message: string) => void told.push(message),
  };
  const dashboard = await startDashboard({ port: 0, find, log, lookMs: 30, ...options });
  onTestFinished(() => dashboard.stop());
  return { ...dashboard, told };
}

async function ask(url: string, headers: Record<string, string> = {}) {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string; etag: string }>();
  const outgoing = request(url, { headers, agent: false }, async (response) =>
    resolve({
      status: response.statusCode ?? 0,
      etag: String(response.headers.etag),
      body: await text(response),
    }),
  );
  outgoing.on('error', reject);
  outgoing.end();
  return promise;
}

/** The uids of the next decisions, in alphabetical order. */
async function uidsOf(stream: OpenStream, count: number): Promise<unknown[]> {
  const uids: unknown[] = [];
  while (uids.length < count) uids.push((await stream.nextDecision()).uid);
  return uids.sort();
}

/** A directory whose answer a test can change. */
function directory(replicas: readonly Replica[], leader: string | undefined) {
  const found = { replicas, leader };
  return { found, find: async (): Promise<Replicas> => ({ ...found }) };
}

describe('the page and its state', () => {
  it("are the leader's, with its headers and its entity tag", async () => {
    const [a, b] = await Promise.all([startReplica('tk-a', 'tk-b'), startReplica('tk-b')]);
    const { url } = await dashboardOf(directory([a, b], 'tk-b').find);

    expect((await ask(url)).body).toContain('<title>tk-b</title>');
    const state = await ask(`${url}api/state`);
    expect(JSON.parse(state.body)).toMatchObject({ replica: 'tk-b', leader: { isThis: true } });
    expect(await ask(`${url}api/state`, { 'if-none-match': state.etag })).toMatchObject({ status: 304, body: '' });
  });

  it("are any replica's while no replica leads", async () => {
    const a = await startReplica('tk-a', 'nobody');
    const { url } = await dashboardOf(directory([a], undefined).find);
    expect(JSON.parse((await ask(`${url}api/state`)).body)).toMatchObject({ replica: 'tk-a' });
  });

  it("are another leader's soon after it was elected", async () => {
    const [a, b] = await Promise.all([startReplica('tk-a'), startReplica('tk-b', 'tk-a')]);
    const { found, find } = directory([a, b], 'tk-a');
    const { url, told } = await dashboardOf(find);
    const stream = await openStream(`${url}api/events`);
    found.leader = 'tk-b';

    await eventually(() => expect(told).toEqual(['showing tk-b']));
    expect((await ask(url)).body).toContain('<title>tk-b</title>');
    // The browser is told to look again: with the entity tag of what it will find.
    const { etag } = await ask(`${url}api/state`);
    await eventually(async () => expect((await stream.next()).data).toBe(JSON.stringify(etag)));
  });

  it('cannot be had while the replica cannot be reached: the answer says so', async () => {
    const dead: Replica = { name: 'tk-a', dial: () => Promise.reject(new Error('no route')) };
    const { url } = await dashboardOf(directory([dead], 'tk-a').find);
    expect(await ask(url)).toMatchObject({ status: 502, body: 'tk-a cannot be reached: no route\n' });
  });
});

it('an answer that does not end is cut off', async () => {
  const stalling = createServer((_request, response) => void response.write('half'));
  onTestFinished(() => void stalling.close());
  await once(stalling.listen(0, '127.0.0.1'), 'listening');
  const { port } = stalling.address() as AddressInfo;
  const replica = replicaAt(new URL(`http://127.0.0.1:${port}`));
  const { url } = await dashboardOf(directory([replica], undefined).find, { answerMs: 100 });
  const response = await fetch(url);
  expect(response.status).toBe(200);
  await expect(response.text()).rejects.toThrow('terminated');
});

describe('the events', () => {
  it('are those of all replicas, each once, from before and from now on', async () => {
    const [a, b] = await Promise.all([startReplica('tk-a'), startReplica('tk-b', 'tk-a')]);
    a.decide('a1');
    b.decide('b1');
    const { url } = await dashboardOf(directory([a, b], 'tk-a').find);
    const stream = await openStream(`${url}api/events`);
    expect(await uidsOf(stream, 2)).toEqual(['a1', 'b1']);
    b.decide('b2');
    expect(await uidsOf(stream, 1)).toEqual(['b2']);

    expect(await uidsOf(await openStream(`${url}api/events`), 3)).toEqual(['a1', 'b1', 'b2']);
  });

  it('of many replicas are the latest, whichever replica sends its events first', async () => {
    const replicas = await Promise.all(['tk-a', 'tk-b', 'tk-c'].map((name) => startReplica(name, 'tk-a')));
    const minutes = { 'tk-b': 1, 'tk-c': 2, 'tk-a': 3 } as Record<string, number>;
    for (const { name, decide } of replicas) {
      const at = new Date(60_000 * (minutes[name] ?? 0));
      for (let index = 0; index < 200; index++) decide(`${name} ${index}`, at);
    }
    const { url } = await dashboardOf(directory(replicas, 'tk-a').find);
    await eventually(async () => {
      const uids = await uidsOf(await openStream(`${url}api/events`), 400);
      const countOf = (name: string) => uids.filter((uid) => String(uid).startsWith(name)).length;
      expect([countOf('tk-a'), countOf('tk-b'), countOf('tk-c')]).toEqual([200, 0, 200]);
    });
  });

  it('go on after a connection was lost, without a gap', async () => {
    const a = await startReplica('tk-a');
    const { url, told } = await dashboardOf(directory([a], 'tk-a').find);
    const stream = await openStream(`${url}api/events`);
    a.decide('before');
    expect(await uidsOf(stream, 1)).toEqual(['before']);
    a.cut();
    a.decide('meanwhile');
    expect(await uidsOf(stream, 1)).toEqual(['meanwhile']);
    await eventually(() =>
      expect(told).toEqual(['tk-a cannot be followed: the connection was closed', 'tk-a is followed again']),
    );
  });

  it('are also those of a replica that comes later', async () => {
    const [a, b] = await Promise.all([startReplica('tk-a'), startReplica('tk-b', 'tk-a')]);
    const { found, find } = directory([a], 'tk-a');
    const { url } = await dashboardOf(find);
    const stream = await openStream(`${url}api/events`);
    found.replicas = [a, b];
    b.decide('b1');
    expect(await uidsOf(stream, 1)).toEqual(['b1']);
  });

  it('of one that has no page are missed aloud', async () => {
    const a = await startReplica('tk-a');
    const { url, told } = await dashboardOf(
      directory([a, { ...a, name: 'tk-old', dial: replicaAt(await plainServer()).dial }], 'tk-a').find,
    );
    await eventually(() => expect(told[0]).toMatch(/^tk-old cannot be followed: it has no page/));
    expect((await ask(url)).status).toBe(200);
  });
});

it('with addresses alone, finds out who leads, and who leads next', async () => {
  const [a, b] = await Promise.all([startReplica('tk-a', 'tk-b'), startReplica('tk-b')]);
  const find = givenReplicas([a, b].map(({ url }) => replicaAt(url)));
  expect((await find()).leader).toBe(b.url.host);
  expect((await find()).leader).toBe(b.url.host);
  for (const replica of [a, b]) replica.setLeader('tk-a');
  expect((await find()).leader).toBe(a.url.host);
});

it.each([
  { why: 'a foreign name that leads here', headers: { host: 'evil.example' } },
  { why: 'a foreign page', headers: { 'sec-fetch-site': 'cross-site' } },
])('refuses $why', async ({ headers }) => {
  const { url } = await dashboardOf(directory([await startReplica('tk-a')], 'tk-a').find);
  for (const path of ['', 'api/state', 'api/events']) expect((await ask(url + path, headers)).status).toBe(403);
});

it('forwards nothing but GET', async () => {
  const { url } = await dashboardOf(directory([await startReplica('tk-a')], 'tk-a').find);
  expect((await fetch(url, { method: 'POST' })).status).toBe(404);
});

it('says what is wrong with its port', async () => {
  const { find } = directory([await startReplica('tk-a')], 'tk-a');
  const { url } = await dashboardOf(find);
  const port = Number(new URL(url).port);
  const failing = startDashboard({ port, find, log: { warn() {}, info() {} } });
  await expect(failing).rejects.toThrow(InputError);
  await expect(failing).rejects.toThrow(/^cannot listen on 127.0.0.1 port \d+ \(see --port\)/);
});

it('keeps the replicas that it knows while it cannot find replicas through the API server', async () => {
  const a = await startReplica('tk-a');
  let broken = false;
  const { url, told } = await dashboardOf(async () => {
    if (broken) throw new Error('no API server');
    return { replicas: [a], leader: 'tk-a' };
  });
  broken = true;
  await eventually(() => expect(told).toEqual([expect.stringMatching(/no API server$/)]));
  expect((await ask(url)).status).toBe(200);
  broken = false;
  await eventually(() => expect(told[1]).toBe('the replicas were found again'));
});

it('stops while its request for the replicas is unanswered', async () => {
  const a = await startReplica('tk-a');
  const asked = vi.fn(async (): Promise<Replicas> => ({ replicas: [a], leader: 'tk-a' }));
  const { stop, told } = await dashboardOf(asked);
  asked.mockReturnValue(new Promise(() => {}));
  const calls = asked.mock.calls.length;
  await eventually(() => expect(asked.mock.calls.length).toBeGreaterThan(calls));
  await stop();
  expect(told).toEqual([]);
});

/** An admin listener without a page. */
async function plainServer(): Promise<URL> {
  const admin = createAdminServer({ checks: () => [], registry: new Registry() });
  onTestFinished(() => admin.close());
  return new URL(await admin.listen({ host: '127.0.0.1', port: 0 }));
}
