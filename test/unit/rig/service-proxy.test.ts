import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type ServiceProxy, startServiceProxy } from '../../control-plane/service-proxy.ts';
import { connectClient, type EchoBackend, type EchoClient, startEchoBackend } from './echo-servers.ts';
import { eventually } from './eventually.ts';

const QUIET_MS = 150;
const PROBE = { periodMs: 10, timeoutMs: 500, failureThreshold: 2 };

let proxy: ServiceProxy;
let one: EchoBackend;
let two: EchoBackend;
let clients: EchoClient[];

beforeEach(async () => {
  [one, two] = await Promise.all([startEchoBackend('one'), startEchoBackend('two')]);
  proxy = await startServiceProxy(PROBE);
  proxy.add(one);
  proxy.add(two);
  clients = [];
  await proxy.waitForReady('one', 'two');
});

afterEach(async () => {
  for (const { socket } of clients) socket.destroy();
  await proxy.stop();
  await Promise.all([one.stop(), two.stop()]);
});

function open(): EchoClient {
  const client = connectClient(proxy.port);
  clients.push(client);
  return client;
}

/** Connects, and says which backend has answered; `undefined` when none has and the connection was reset. */
async function ask(): Promise<string | undefined> {
  const client = open();
  await eventually(() => expect(client.received() || client.fate()).not.toBe('open'));
  return client.received().trim() || undefined;
}

async function askTimes(count: number): Promise<(string | undefined)[]> {
  const answers = [];
  for (let i = 0; i < count; i++) answers.push(await ask());
  return answers;
}

it('gives connections to the ready backends in turn, and counts them', async () => {
  expect((await askTimes(6)).toSorted()).toEqual(['one', 'one', 'one', 'two', 'two', 'two']);
  expect(proxy.connections()).toEqual({ one: 3, two: 3 });
  expect(proxy.unserved).toBe(0);
});

it('gives nothing to a backend before it is ready', async () => {
  const late = await startEchoBackend('late');
  late.readiness = 'unready';
  proxy.add(late);
  await delay(QUIET_MS);
  expect(proxy.ready()).toEqual(['one', 'two']);
  expect(await askTimes(6)).not.toContain('late');
  late.readiness = 'ready';
  await proxy.waitForReady('one', 'two', 'late');
  expect(await askTimes(3)).toContain('late');
  await late.stop();
});

it.each(['unready', 'silent'] as const)(
  'leaves a backend that is %s its connections, and gives it no new ones',
  async (readiness) => {
    const established = [open(), open()];
    for (const client of established) await eventually(() => expect(client.received()).not.toBe(''));
    two.readiness = readiness;
    await proxy.waitForReady('one');
    expect(await askTimes(4)).toEqual(['one', 'one', 'one', 'one']);
    for (const client of established) {
      client.socket.write('still there\n');
      await eventually(() => expect(client.received()).toContain('still there'));
    }
    two.readiness = 'ready';
    await proxy.waitForReady('one', 'two');
  },
);

it('does not call a backend unready for one failure', async () => {
  const patient = await startServiceProxy({ ...PROBE, failureThreshold: 1_000 });
  patient.add(one);
  await patient.waitForReady('one');
  one.readiness = 'unready';
  await proxy.waitForReady('two');
  expect(patient.ready()).toEqual(['one']);
  await patient.stop();
});

it('tries the next backend when one refuses, before the probe has noticed', async () => {
  const slow = await startServiceProxy({ ...PROBE, periodMs: 60_000 });
  slow.add(one);
  slow.add(two);
  await slow.waitForReady('one', 'two');
  await two.stop();
  for (let i = 0; i < 4; i++) {
    const client = connectClient(slow.port);
    clients.push(client);
    await eventually(() => expect(client.received()).toBe('one\n'));
  }
  expect(slow.connections()).toEqual({ one: 4 });
  await slow.stop();
});

it('closes the connections of a backend that is gone', async () => {
  const established = [open(), open()];
  for (const client of established) await eventually(() => expect(client.received()).not.toBe(''));
  await two.stop();
  const [kept, lost] = established.toSorted((a, b) => a.received().localeCompare(b.received()));
  await eventually(() => expect(lost?.fate()).not.toBe('open'));
  expect(kept?.fate()).toBe('open');
});

it('resets connections when no backend is ready, and counts them', async () => {
  one.readiness = 'unready';
  two.readiness = 'unready';
  await proxy.waitForReady();
  expect(await askTimes(2)).toEqual([undefined, undefined]);
  expect(proxy.unserved).toBe(2);
});

it('gives a removed backend nothing more, leaves it its connections, and takes another of its name', async () => {
  proxy.remove('two');
  expect(proxy.ready()).toEqual(['one']);
  expect(await askTimes(2)).toEqual(['one', 'one']);
  proxy.add({ ...two, name: 'one' });
  await proxy.waitForReady('one');
  expect(await askTimes(2)).toEqual(['two', 'two']);
  expect(clients.map((client) => client.fate())).toEqual(['open', 'open', 'open', 'open']);
});

it('resets all connections when asked, and gives new ones as before', async () => {
  const established = [open(), open()];
  for (const client of established) await eventually(() => expect(client.received()).not.toBe(''));
  proxy.reset();
  for (const client of established) await eventually(() => expect(client.fate()).toBe('reset'));
  expect((await askTimes(2)).toSorted()).toEqual(['one', 'two']);
});
