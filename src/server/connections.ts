import type { Server, Socket } from 'node:net';
import { createFairMap, type FairMap } from '../collections/fair-map.ts';

/** Limits for clients. */
export interface ClientTimeouts {
  readonly keepAliveMs: number;
  /** From the start of a connection, or from the first byte of a further request, to the end of the headers. */
  readonly headersMs: number;
  /** From the end of the headers to the end of the request. */
  readonly bodyMs: number;
  /** After how many checks a body is closed that takes the room for which others wait. */
  readonly slowChecks: number;
  readonly handshakeMs: number;
  /** How often requests over their limits are searched: they may take this much longer. */
  readonly checkIntervalMs: number;
}

export const CLIENT_TIMEOUTS: ClientTimeouts = {
  // The API server keeps idle connections for 90 s. If this end closes first, a request that is being sent at that moment is lost, and the API server
  // does not send it again.
  keepAliveMs: 120_000,
  // The API server opens some connections in reserve, and a call may arrive when one is closed.
  headersMs: 100_000,
  // A webhook's timeout is 30 s at most and 10 s by default: a slower client is no API server.
  bodyMs: 10_000,
  // An API server sends a body in milliseconds, and waits two seconds for the answer.
  slowChecks: 3,
  handshakeMs: 5_000,
  checkIntervalMs: 500,
};

export interface ConnectionLimits {
  /** How many connections may be open without a request, and how many others. */
  readonly max: number;
  readonly onClosed: () => void;
}

/**
 * Follows the connections of an HTTP server. Each needs memory, 60 KiB with TLS, so they are bounded. If there are too many, it closes one of the
 * address that has the most: the one that was idle for the longest time. Connections without a request are counted separately, so that a client that
 * opens thousands does not affect those that send requests.
 *
 * It also bounds a shutdown. `server.close()` alone waits for every connection, also for a TLS connection without a request. Call
 * it before the server listens.
 */
export function followConnections(server: Server, { max, onClosed }: ConnectionLimits): { destroyAll(): void } {
  /** By the clients' addresses, because a request knows only the TLS socket. The one that was idle for the longest time is the oldest. */
  const silent = createFairMap<Socket>(max);
  const used = createFairMap<Socket>(max);

  server.on('connection', (socket: Socket) => {
    const address = addressOf(socket);
    add(silent, address, socket);
    socket.once('close', () => {
      for (const open of [silent, used]) if (open.get(address) === socket) open.delete(address);
    });
  });
  server.on('request', (request: { readonly socket: Socket }) => {
    const address = addressOf(request.socket);
    if (used.touch(address)) return;
    const socket = silent.get(address);
    if (socket === undefined) return;
    silent.delete(address);
    add(used, address, socket);
  });

  function add(open: FairMap<Socket>, address: string, socket: Socket): void {
    const closed = open.set(address, socket, { origin: socket.remoteAddress ?? '', part: '' });
    if (closed === undefined) return;
    closed.destroy();
    onClosed();
  }

  return {
    destroyAll() {
      for (const socket of [...silent.values(), ...used.values()]) socket.destroy();
    },
  };
}

function addressOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
