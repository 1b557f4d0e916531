import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { createEventStreams, type StreamEvent, type StreamLimits } from '../../../src/page/event-streams.ts';
import { eventually } from '../eventually.ts';
import { openRaw } from '../server/raw-connections.ts';
import { openStream } from './streams.ts';

const event = (data: string, id?: string): StreamEvent => ({
  type: 'told',
  ...(id === undefined ? {} : { id }),
  data: () => JSON.stringify(data),
});

/** Streams that begin with the events, on a free port. */
async function serve({ first = [], ...limits }: Partial<StreamLimits> & { first?: readonly StreamEvent[] } = {}) {
  const streams = createEventStreams(
    { 'x-page': 'yes' },
    { clients: 20, waitingEvents: 400, bufferedBytes: 65_536, heartbeatMs: 10_000, ...limits },
  );
  const server = createServer((_request, response) => streams.open(response, first));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    streams.stop();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { streams, port, url: `http://127.0.0.1:${port}/` };
}

it('begins with what there is, and goes on with what comes', async () => {
  const { streams, url } = await serve({ first: [event('old', 'r/1'), event('older\nthan that')] });
  const stream = await openStream(url);
  expect(stream.status).toBe(200);
  expect(stream.headers).toMatchObject({
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-page': 'yes',
  });
  streams.send(event('new', 'r/2'));

  expect([await stream.next(), await stream.next(), await stream.next()]).toEqual([
    { type: 'told', id: 'r/1', data: '"old"' },
    { type: 'told', id: undefined, data: '"older\\nthan that"' },
    { type: 'told', id: 'r/2', data: '"new"' },
  ]);
});

it('takes so many clients and no more, until one leaves', async () => {
  const { streams, url } = await serve({ clients: 2 });
  const [first] = await Promise.all([openStream(url), openStream(url)]);
  const refused = await openStream(url);
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '10']);

  first.close();
  await eventually(() => expect(streams.size).toBe(1));
  expect((await openStream(url)).status).toBe(200);
});

it('takes no client that has already disconnected', async () => {
  const { streams } = await serve();
  const late = createServer();
  const asked = once(late, 'request');
  await new Promise<void>((resolve) => late.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void late.close());
  const socket = await openRaw((late.address() as AddressInfo).port);
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const [, response] = (await asked) as [IncomingMessage, ServerResponse];
  socket.destroy();
  await once(response, 'close');
  streams.open(response, [event('too late')]);
  expect(streams.size).toBe(0);
});

const LONG = 'x'.repeat(100_000);

/** A client that asks, and then reads nothing. */
async function openDeaf(port: number) {
  const socket = await openRaw(port);
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  socket.pause();
  return socket;
}

it('lets go of a client that does not read, and keeps the others', async () => {
  const { streams, port, url } = await serve({ waitingEvents: 10 });
  await openDeaf(port);
  const reader = await openStream(url);
  await eventually(() => expect(streams.size).toBe(2));

  let made = 0;
  const counted: StreamEvent = { type: 'told', data: () => JSON.stringify(`${++made} ${LONG}`) };
  let sent = 0;
  while (streams.size === 2 && sent < 1_000) {
    streams.send(counted);
    sent++;
    await reader.next();
  }

  expect(streams.size).toBe(1);
  // What the deaf one does not take is not even made: the kernel's buffers, ours, and no more.
  expect(made).toBeLessThan(2 * sent - 5);
  streams.send(event('still here'));
  expect((await reader.next()).data).toBe('"still here"');
});

it('lets go of a client that takes nothing from one heartbeat to the next', async () => {
  const first = Array.from({ length: 200 }, () => event(LONG));
  const { streams, port } = await serve({ first, heartbeatMs: 30 });
  await openDeaf(port);
  await eventually(() => expect(streams.size).toBe(1));
  await eventually(() => expect(streams.size).toBe(0));
});

it('gives a reader all of a long beginning, in order', async () => {
  const first = Array.from({ length: 100 }, (_, index) => event(`${index} ${LONG}`));
  const { url } = await serve({ first });
  const stream = await openStream(url);
  for (let index = 0; index < 100; index++) expect((await stream.next()).data).toMatch(new RegExp(`^"${index} x`));
});

it('sends heartbeats, which are no events', async () => {
  const { streams, port } = await serve({ heartbeatMs: 20 });
  const socket = await openRaw(port);
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await eventually(() => expect(text.match(/: \n\n/g)?.length).toBeGreaterThan(2));
  expect(streams.size).toBe(1);
});

it('ends all streams when it stops', async () => {
  const { streams, url } = await serve();
  const open = await Promise.all([openStream(url), openStream(url)]);
  streams.stop();
  await Promise.all(open.map(({ ended }) => ended));
});
