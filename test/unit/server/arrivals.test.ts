import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { connect } from 'node:tls';
import { expect, it, onTestFinished, vi } from 'vitest';
import { RECEIVED_LIMIT_BYTES } from '../../../src/server/admission-server.ts';
import { followArrivals } from '../../../src/server/connections.ts';
import { BODY_LIMIT_BYTES } from '../../../src/server/json-body.ts';
import { LEVEL } from '../captured-log.ts';
import { eventually } from '../eventually.ts';
import { closed } from './raw-connections.ts';
import { reviewOfSize } from './review-texts.ts';
import { ALIVE, CA_CERT, startServer } from './running-server.ts';

const PART = Buffer.alloc(BODY_LIMIT_BYTES - 1, ' ');
const CLIENTS = Math.floor(RECEIVED_LIMIT_BYTES / PART.length) + 2;

/** A client that sends all of a largest body but its last byte, and stays; what it sent has left it when this is done. */
async function sendAlmostAll(port: number) {
  const socket = connect({ host: '127.0.0.1', port, ca: CA_CERT, servername: 'localhost' });
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  const head = `POST /validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${BODY_LIMIT_BYTES}\r\n\r\n`;
  socket.write(head);
  await new Promise((resolve) => socket.write(PART, resolve));
  return socket;
}

it('of bodies that are never finished, the oldest go before memory does; an ordinary request of any size is answered', async () => {
  const server = await startServer();
  const clients = [];
  for (let n = 0; n < CLIENTS; n++) clients.push(await sendAlmostAll(server.port));
  const [first, second] = clients;
  if (first) await closed(first);
  const closedLines = () => server.log.lines().filter(({ msg }) => msg.startsWith('too many bytes'));
  await eventually(() => expect(closedLines().length).toBeGreaterThan(0));

  expect(closedLines()[0]).toMatchObject({ level: LEVEL.warn });
  expect((await server.post(reviewOfSize(BODY_LIMIT_BYTES))).status).toBe(200);
  if (second) await closed(second);
  expect(clients.at(-1)?.destroyed).toBe(false);
  expect(await server.aliveAnswer()).toEqual(ALIVE);
});

it('what has been answered counts no more', async () => {
  const server = await startServer();
  const body = reviewOfSize(BODY_LIMIT_BYTES);
  for (let n = 0; n < CLIENTS; n++) expect((await server.post(body)).status).toBe(200);

  expect(server.log.text()).not.toContain('too many bytes');
});

it('who has sent nothing makes no room, and stays', async () => {
  const onClosed = vi.fn();
  const arrivals = followArrivals({ bytes: 10, time: 60_000, checkInterval: 60_000, onClosed });
  onTestFinished(arrivals.stop);
  const [silent, old, young] = [new PassThrough(), new PassThrough(), new PassThrough()];
  for (const message of [silent, old, young]) {
    arrivals.begin(message as unknown as IncomingMessage, () => {});
    arrivals.reads(message as unknown as IncomingMessage);
  }
  for (const message of [old, young]) message.write('x'.repeat(6));

  await eventually(() => expect(onClosed).toHaveBeenCalledOnce());
  expect([silent, old, young].map(({ destroyed }) => destroyed)).toEqual([false, true, false]);
});
