import type { Server, Socket } from 'node:net';
import { createFairMap, type FairMap } from '../collections/fair-map.ts';

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
