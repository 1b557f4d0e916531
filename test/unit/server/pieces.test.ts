import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { expect, it, vi } from 'vitest';
import { holdBack } from '../../../src/server/pieces.ts';
import { openTls, readToEnd } from './raw-connections.ts';
import { ALIVE, startServer } from './running-server.ts';

/** A body that is held back, and what its reader gets. */
function held() {
  const socket = { pause: vi.fn() };
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
