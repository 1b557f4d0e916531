import { EventEmitter, once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { CLIENT_TIMEOUTS } from '../../../src/server/client-timeouts.ts';
import { BODY_LIMIT_BYTES } from '../../../src/server/json-body.ts';
import { holdBack } from '../../../src/server/pieces.ts';
import { eventually } from '../eventually.ts';
import { openTls, readToEnd } from './raw-connections.ts';
import { reviewOfSize } from './review-texts.ts';
import { ALIVE, SERVING_PAIR, startServer } from './running-server.ts';

/** A body that is held back, and what its reader gets. */
function held() {
  const socket = Object.assign(new EventEmitter(), { pause: vi.fn(), resume: vi.fn() });
  const message = Object.assign(new Readable({ read() {} }), { socket });
  const release = holdBack(message as unknown as IncomingMessage);
  const pieces: string[] = [];
  return {
    socket,
    message,
    pieces,
    async read() {
      release();
      message.on('data', (piece) => pieces.push(String(piece)));
      message.resume();
      message.push(null);
      await eventually(() => expect(message.readableEnded).toBe(true));
    },
  };
}
const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

it('a body that is held back is one piece, in whatever pieces it came', async () => {
  const { message, socket, pieces, read } = held();
  for (const byte of 'abcdefgh') message.push(byte);
  await turn();
  expect(socket.pause).toHaveBeenCalled();
  await read();
  expect(pieces).toEqual(['abcdefgh']);
});

it.each(['at once', 'after a turn'])('the rest of a body that was held back follows: released %s', async (when) => {
  const { message, pieces, read } = held();
  message.push('abc');
  if (when !== 'at once') await turn();
  message.push('def');
  await read();
  expect(pieces.join('')).toBe('abcdef');
});

it('nothing is held of a body of which nothing has arrived', async () => {
  const { pieces, socket, read } = held();
  await turn();
  await read();
  expect(pieces).toEqual([]);
  expect(socket.pause).not.toHaveBeenCalled();
});

/** A server that holds back every body, and a client of it. */
async function connected() {
  const server = createServer({ cert: SERVING_PAIR.cert, key: SERVING_PAIR.key }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const client = await openTls((server.address() as AddressInfo).port);
  client.setNoDelay(true);
  const held: { readonly message: IncomingMessage; readonly release: () => void }[] = [];
  server.on('request', (message) => held.push({ message, release: holdBack(message) }));
  return {
    held,
    /** Sends each byte in a TLS record of its own. */
    async dribble(text: string) {
      for (const byte of text) await new Promise((resolve) => client.write(byte, resolve));
    },
    send: (text: string | Buffer) => new Promise((resolve) => client.write(text, resolve)),
    client,
  };
}

/** What is received is the same for a while. */
async function stopped({ socket }: IncomingMessage): Promise<void> {
  for (let same = 0, before = -1; same < 10; before = socket.bytesRead) {
    await setTimeout(20);
    same = socket.bytesRead === before ? same + 1 : 0;
  }
}

const head = (length: number) => `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${length}\r\n\r\n`;

it('a body that is held back is read no further, in one piece so far, and later is whole', async () => {
  const { held, client, send, dribble } = await connected();
  await send(head(2_000));
  await eventually(() => expect(held).toHaveLength(1));
  const [{ message, release }] = held as [(typeof held)[number]];
  await dribble('x'.repeat(2_000));
  await stopped(message);
  const arrived = message.readableLength;
  expect(arrived).toBeGreaterThan(0);
  expect(arrived).toBeLessThan(2_000);

  const pieces: number[] = [];
  release();
  message.on('data', (piece: Buffer) => pieces.push(piece.length));
  message.resume();
  await once(message, 'end');
  expect(pieces[0]).toBe(arrived);
  expect(pieces.reduce((sum, length) => sum + length)).toBe(2_000);
  client.destroy();
});

it('a body that is held back stays so when an earlier one on its connection is read', async () => {
  const { held, client, send, dribble } = await connected();
  await send(`${head(3)}abc${head(500)}d`);
  await eventually(() => expect(held).toHaveLength(2));
  const [{ message: first, release: releaseFirst }, { message: second, release: releaseSecond }] = held as [
    (typeof held)[number],
    (typeof held)[number],
  ];
  await stopped(second);
  releaseFirst();
  first.on('data', () => {}).resume();
  await once(first, 'end');
  await dribble('e'.repeat(499));
  await stopped(second);
  expect(second.readableLength).toBeLessThan(100);

  releaseSecond();
  let received = 0;
  second.on('data', (piece: Buffer) => {
    received += piece.length;
  });
  second.resume();
  await once(second, 'end');
  expect(received).toBe(500);
  client.destroy();
});

/** What one sender has in all, in unfinished bodies. */
async function fill(port: number) {
  const senders = await Promise.all(Array.from({ length: 4 }, () => openTls(port)));
  for (const sender of senders) {
    sender.write(
      `POST /validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${BODY_LIMIT_BYTES}\r\n\r\n `,
    );
  }
  return senders;
}

it('requests that end while their bodies are held back leave their room to others', async () => {
  const server = await startServer({
    timeouts: { ...CLIENT_TIMEOUTS, bodyMs: 300, checkIntervalMs: 20, slowChecks: 1_000_000 },
  });
  await fill(server.port);
  const held = await fill(server.port);
  for (const sender of held) expect(await readToEnd(sender)).toMatch(/^HTTP\/1\.1 408 /);
  // Those that were held took all the room, once it was free, and nothing ended them.
  for (let n = 0; n < 3; n++) {
    await eventually(async () => expect((await server.post(reviewOfSize(BODY_LIMIT_BYTES))).status).toBe(200));
  }
});

it('an empty body that waits behind others of its sender is answered', async () => {
  const server = await startServer();
  const senders = await fill(server.port);
  const [waiting] = await fill(server.port);
  const empty = await openTls(server.port);
  empty.write(
    'POST /validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
  );
  const answer = readToEnd(empty);
  const inFlight = server.metrics.registry.getSingleMetric('taintkeeper_admission_in_flight');
  await eventually(async () => expect((await inFlight?.get())?.values[0]?.value).toBe(9));
  for (const sender of [...senders, waiting]) sender?.destroy();
  expect(await answer).toMatch(/^HTTP\/1\.1 400 /);
});

it.each(['POST /validate', 'POST /nothing', 'GET /'])(
  'a body in chunks is refused, whatever asks for it: %s',
  async (line) => {
    const server = await startServer();
    const client = await openTls(server.port);
    const fields = ['Host: localhost', 'Content-Type: application/json', 'Transfer-Encoding: chunked'];
    client.write([`${line} HTTP/1.1`, ...fields, '', '1\r\n \r\n'.repeat(1_000)].join('\r\n'));

    const answer = await readToEnd(client);
    expect(answer).toMatch(/^HTTP\/1\.1 411 /);
    expect(answer).toContain('connection: close');
    expect(await server.aliveAnswer()).toEqual(ALIVE);
  },
);
