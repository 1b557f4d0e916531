import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { holdBack } from '../../../src/server/pieces.ts';
import { openTls, readToEnd } from './raw-connections.ts';
import { ALIVE, SERVING_PAIR, startServer } from './running-server.ts';

/** A body that is held back, and what its reader gets. */
function held() {
  const socket = { pause: vi.fn(), resume: vi.fn() };
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
      await vi.waitFor(() => expect(message.readableEnded).toBe(true));
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

it('a body that is held back is not read, and later is whole', async () => {
  const length = 16 * 1024 * 1024;
  const server = createServer({ cert: SERVING_PAIR.cert, key: SERVING_PAIR.key }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const client = await openTls((server.address() as AddressInfo).port);
  client.write(`POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${length}\r\n\r\n`);
  const [message] = (await once(server, 'request')) as [IncomingMessage];
  const release = holdBack(message);
  client.write(Buffer.alloc(length));

  // What is received is the same for a while: TCP has stopped the client.
  for (let same = 0, before = -1; same < 10; before = message.socket.bytesRead) {
    await setTimeout(20);
    same = message.socket.bytesRead === before ? same + 1 : 0;
  }
  expect(message.readableLength).toBeGreaterThan(0);
  expect(message.readableLength).toBeLessThan(1024 * 1024);

  release();
  let received = 0;
  message.on('data', (piece: Buffer) => {
    received += piece.length;
  });
  message.resume();
  await once(message, 'end');
  expect(received).toBe(length);
  client.destroy();
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
