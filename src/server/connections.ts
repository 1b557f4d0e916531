import type { Server, Socket } from 'node:net';

export interface ConnectionLimits {
  /** How many may be open over which nothing was asked yet, and how many others. */
  readonly max: number;
  readonly onDropped: () => void;
}

/**
 * Follows the connections of an HTTP server. Each takes memory, 60 KiB with TLS, so they are bounded: when there are too many, the one goes
 * that has been quiet for the longest time. Those over which nothing was asked yet make no room at the cost of others: whoever
 * opens thousands does not get in the way of whoever asks.
 *
 * It also bounds a stop. `server.close()` alone waits for every connection, also for one of TLS that never sent a request. Call
 * it before the server listens.
 */
export function followConnections(server: Server, { max, onDropped }: ConnectionLimits): { destroyAll(): void } {
  /** By their clients' addresses, because a request knows only the TLS socket; the one that was quiet for the longest time first. */
  const silent = new Map<string, Socket>();
  const used = new Map<string, Socket>();

  server.on('connection', (socket: Socket) => {
    const client = clientOf(socket);
    silent.set(client, socket);
    socket.once('close', () => {
      for (const open of [silent, used]) if (open.get(client) === socket) open.delete(client);
    });
    bound(silent);
  });
  server.on('request', (request: { readonly socket: Socket }) => {
    const client = clientOf(request.socket);
    const socket = silent.get(client) ?? used.get(client);
    if (socket === undefined) return;
    silent.delete(client);
    used.delete(client);
    used.set(client, socket);
    bound(used);
  });

  function bound(open: Map<string, Socket>): void {
    const [oldest] = open;
    if (open.size <= max || oldest === undefined) return;
    const [client, socket] = oldest;
    open.delete(client);
    socket.destroy();
    onDropped();
  }

  return {
    destroyAll() {
      for (const socket of [...silent.values(), ...used.values()]) socket.destroy();
    },
  };
}

function clientOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
