import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startTcpProxy, type TcpProxy } from '../../control-plane/tcp-proxy.ts';
import { connectClient, type EchoClient, type EchoServer, startEchoServer } from './echo-servers.ts';
import { eventually } from './eventually.ts';

/** Long enough to see something arrive over the loopback that should not. */
const QUIET_MS = 150;
const SEVERAL_BUFFERS = 'x'.repeat(8_000_000);

let server: EchoServer;
let proxy: TcpProxy;
let clients: EchoClient[];

beforeEach(async () => {
  server = await startEchoServer('server');
  proxy = await startTcpProxy(`https://127.0.0.1:${server.port}`);
  clients = [];
});

afterEach(async () => {
  for (const { socket } of clients) socket.destroy();
  await proxy.stop();
  await server.stop();
});

async function greeted(): Promise<EchoClient> {
  const client = connectClient(proxy.port);
  clients.push(client);
  await eventually(() => expect(client.received()).toBe('server\n'));
  return client;
}

it('forwards both ways, and keeps the scheme of the URL', async () => {
  expect(proxy.url).toBe(`https://127.0.0.1:${proxy.port}`);
  const client = await greeted();
  client.socket.write(SEVERAL_BUFFERS);
  await eventually(() => expect(client.received().length).toBe('server\n'.length + SEVERAL_BUFFERS.length));
  expect(proxy.connections).toBe(1);
});

it('passes on the end of one direction while the other goes on', async () => {
  const client = await greeted();
  client.socket.end('last words');
  await eventually(() => expect(client.fate()).toBe('closed'));
  expect(client.received()).toBe('server\nlast words');
  await eventually(() => expect(proxy.connections).toBe(0));
});

it('passes on a reset', async () => {
  const client = await greeted();
  for (const socket of server.connections) socket.resetAndDestroy();
  await eventually(() => expect(client.fate()).toBe('reset'));
});

it('resets a client when nobody listens behind it', async () => {
  await server.stop();
  const client = connectClient(proxy.port);
  clients.push(client);
  await eventually(() => expect(client.fate()).toBe('reset'));
});

it('is half open while it is paused, and delivers what was sent when it goes on', async () => {
  const client = await greeted();
  proxy.pause();
  client.socket.write('question\n');
  for (const socket of server.connections) socket.write('news\n');
  await delay(QUIET_MS);
  expect(client.received()).toBe('server\n');
  expect(client.fate()).toBe('open');
  proxy.resume();
  await eventually(() => {
    expect(client.received()).toContain('question\n');
    expect(client.received()).toContain('news\n');
  });
});

it.each([
  { how: 'an end', finish: (socket: { destroy(): unknown }) => socket.destroy(), fate: 'ended' },
  { how: 'a reset', finish: (socket: { resetAndDestroy(): unknown }) => socket.resetAndDestroy(), fate: 'reset' },
])('keeps $how to itself while it is paused', async ({ finish, fate }) => {
  const client = await greeted();
  proxy.pause();
  for (const socket of server.connections) finish(socket);
  await eventually(() => expect(server.connections.size).toBe(0));
  await delay(QUIET_MS);
  expect(client.fate()).toBe('open');
  proxy.resume();
  await eventually(() => expect(client.fate()).toBe(fate));
});

it('accepts connections while it is paused, and leaves them silent', async () => {
  proxy.pause();
  const client = connectClient(proxy.port);
  clients.push(client);
  await eventually(() => expect(server.connections.size).toBe(1));
  await delay(QUIET_MS);
  expect([client.received(), client.fate()]).toEqual(['', 'open']);
  proxy.resume();
  await eventually(() => expect(client.received()).toBe('server\n'));
});

it('delays what is sent, in order and its end last, and no longer than it is told to', async () => {
  const client = await greeted();
  proxy.delay(QUIET_MS);
  const began = performance.now();
  client.socket.write('one,');
  await delay(QUIET_MS / 3);
  client.socket.end('two');
  await eventually(() => expect(client.fate()).toBe('closed'));
  expect(client.received()).toBe('server\none,two');
  // There, and back again. A timer may be a millisecond early.
  expect(performance.now() - began).toBeGreaterThan(2 * (QUIET_MS - 2));
  proxy.delay(0);
  await greeted();
});

it.each(['running', 'paused'])('drops connections while it is %s, and serves new ones', async (state) => {
  const client = await greeted();
  if (state === 'paused') proxy.pause();
  expect(proxy.dropConnections()).toBe(1);
  await eventually(() => expect(client.fate()).toBe('reset'));
  await eventually(() => expect(proxy.connections).toBe(0));
  proxy.resume();
  await greeted();
});

it('resets all and frees its port when it stops', async () => {
  const client = await greeted();
  proxy.pause();
  await proxy.stop();
  await eventually(() => expect(client.fate()).toBe('reset'));
  const next = createServer().listen(proxy.port, '127.0.0.1');
  await eventually(() => expect(next.listening).toBe(true));
  next.close();
});
