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

interface Opening {
  readonly count: number;
  /** Few: the system bounds how many connections wait to be accepted, and this process does both ends of each handshake. */
  readonly atOnce: number;
  /** How many connections that the server resets are replaced. */
  readonly maxReplaced?: number;
  /** Of the test: nothing is opened after its time-out. */
  readonly signal: AbortSignal;
  readonly connect: () => Promise<Socket>;
}

async function open({ count, atOnce, maxReplaced = 0, signal, connect }: Opening): Promise<Socket[]> {
  const sockets: Socket[] = [];
  let replaced = 0;
  let hasFailed = false;
  const openSome = async () => {
    while (sockets.length < count && !hasFailed && !signal.aborted) {
      try {
        sockets.push(await connect());
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ECONNRESET' && replaced++ < maxReplaced) continue;
        hasFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, openSome));
  return sockets;
}

it(`a request is answered beside ${CONNECTIONS} connections that say nothing`, { timeout: 20_000 }, async ({
  signal,
}) => {
  const server = await startServer({ timeouts: HELD });
  await open({ count: CONNECTIONS, atOnce: 100, signal, connect: () => openRaw(server.port) });

  expect(await server.aliveAnswer()).toEqual(ALIVE);
});

it('connections that say nothing are cut off, all of them, with and without a handshake', {
  timeout: 20_000,
}, async ({ signal }) => {
  const server = await startServer({
    timeouts: { ...CLIENT_TIMEOUTS, handshakeMs: 500, headersMs: 500, checkIntervalMs: 50 },
  });
  const connections = () =>
    new Promise<number>((resolve) => server.app.server.getConnections((_error, count) => resolve(count)));
  const connectRaw = () => openRaw(server.port);
  const connectTls = () => openTls(server.port);
  const silent = [
    ...(await open({ count: 500, atOnce: 100, signal, connect: connectRaw })),
    // On a busy machine, a handshake can take longer than 500 ms. The server resets its connection.
    ...(await open({ count: 100, atOnce: 4, maxReplaced: 100, signal, connect: connectTls })),
  ];
  for (const socket of silent) socket.resume();

  await eventually(async () => expect(await connections()).toBe(0));
  expect(await server.aliveAnswer()).toEqual(ALIVE);
});
