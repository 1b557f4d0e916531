import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { CLIENT_TIMEOUTS } from '../../../src/server/client-timeouts.ts';
import { eventually } from '../eventually.ts';
import { openRaw, openTls } from './raw-connections.ts';
import { ALIVE, startServer } from './running-server.ts';

/** TAINTKEEPER_TEST_CONNECTIONS asks for more. Both ends of each are in this process; the rest is left to others. */
const { open_files: files } = (process.report.getReport() as { userLimits: Record<string, { soft: string }> })
  .userLimits;
const LIMIT = Number(files?.soft) || 1_024;
const REQUESTED = Number(process.env.TAINTKEEPER_TEST_CONNECTIONS ?? 2_000);
const CONNECTIONS = Math.min(REQUESTED, Math.floor((LIMIT - 500) / 2));

/** As many as a client can have open without sending anything. */
const HELD = { ...CLIENT_TIMEOUTS, handshakeMs: 60_000, headersMs: 60_000 };

/** A few at a time: what waits to be accepted is bounded by the system, and all handshakes are this process's own work. */
async function open(count: number, atOnce: number, connect: () => Promise<Socket | undefined>): Promise<Socket[]> {
  const sockets: Socket[] = [];
  const openSome = async () => {
    while (sockets.length < count) {
      const socket = await connect();
      if (socket) sockets.push(socket);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, openSome));
  return sockets;
}

it(`a request is answered beside ${CONNECTIONS} connections that say nothing`, { timeout: 20_000 }, async () => {
  const server = await startServer({ timeouts: HELD });
  await open(CONNECTIONS, 100, () => openRaw(server.port));

  expect(await server.aliveAnswer()).toEqual(ALIVE);
});

it('connections that say nothing are cut off, all of them, with and without a handshake', {
  timeout: 20_000,
}, async () => {
  const server = await startServer({
    timeouts: { ...CLIENT_TIMEOUTS, handshakeMs: 500, headersMs: 500, checkIntervalMs: 50 },
  });
  const connections = () =>
    new Promise<number>((resolve) => server.app.server.getConnections((_error, count) => resolve(count)));
  // Each handshake has to end within its time: on a busy machine a hundred at once do not. One that is cut off is replaced by another one.
  const silent = [
    ...(await open(500, 100, () => openRaw(server.port))),
    ...(await open(100, 4, () => openTls(server.port).catch(() => undefined))),
  ];
  for (const socket of silent) socket.resume();

  await eventually(async () => expect(await connections()).toBe(0));
  expect(await server.aliveAnswer()).toEqual(ALIVE);
});
