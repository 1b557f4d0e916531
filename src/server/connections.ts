import type { IncomingMessage } from 'node:http';
import type { Server, Socket } from 'node:net';
import { createFairMap, type FairMap } from '../runtime/fair-map.ts';

/** How long a client may take, in milliseconds. */
export interface ClientTimeouts {
  readonly keepAlive: number;
  /** From the opening of a connection, or from the first byte of a further request, to the end of the headers. */
  readonly headers: number;
  /** From there to the end of the request. */
  readonly body: number;
  readonly handshake: number;
  /** How often requests are looked for that are over their limits: they may take so much longer. */
  readonly checkInterval: number;
}

export const CLIENT_TIMEOUTS: ClientTimeouts = {
  // The API server keeps idle connections for 90 s. If this end closes first, the request that is just then on its way is
  // lost, and the API server does not send it again.
  keepAlive: 120_000,
  // Neither does it use every connection at once: some it opens in reserve, and a call may come just when one is closed.
  headers: 100_000,
  // A webhook's timeout is 30 s at most and 10 s by default: whoever takes longer is no API server.
  body: 10_000,
  handshake: 5_000,
  checkInterval: 1_000,
};

export interface ArrivalLimits {
  /** Of all bodies together, as long as they arrive. */
  readonly bytes: number;
  /** Of each request, in milliseconds, from the end of its headers to its own end. */
  readonly time: number;
  /** How often the time is looked at, in milliseconds. */
  readonly checkInterval: number;
  /** A connection was closed, because all requests together have sent too much. */
  readonly onDropped: () => void;
}

export interface Arrivals {
  /** The request's headers are there; `refuse` is called if the rest takes too long. */
  begin(message: IncomingMessage, refuse: () => void): void;
  /** Its body is about to be read, and to be kept in memory. */
  reads(message: IncomingMessage): void;
  stop(): void;
}

/**
 * Bounds what requests take while they arrive. When they hold too much together, the one that has been arriving for the longest
 * time goes: an API server's takes milliseconds, and whoever sends slowly makes room for it.
 */
export function followArrivals({ bytes, time, checkInterval, onDropped }: ArrivalLimits): Arrivals {
  /** The oldest first. What was refused for its age is there until its connection ends. */
  const arriving = new Map<
    IncomingMessage,
    { readonly since: number; bytes: number; refuse?: (() => void) | undefined }
  >();
  let held = 0;

  function forget(message: IncomingMessage): void {
    held -= arriving.get(message)?.bytes ?? 0;
    arriving.delete(message);
  }

  // One for all: a timer for each request costs more than to judge it.
  const check = setInterval(() => {
    const tooOld = performance.now() - time;
    for (const arrival of arriving.values()) {
      if (arrival.since > tooOld) break;
      arrival.refuse?.();
      arrival.refuse = undefined;
    }
  }, checkInterval);
  check.unref();

  return {
    begin(message, refuse) {
      arriving.set(message, { since: performance.now(), bytes: 0, refuse });
      const end = () => forget(message);
      message.on('end', end).on('close', end);
    },
    reads(message) {
      message.on('data', (chunk: Buffer) => {
        const arrival = arriving.get(message);
        if (arrival === undefined) return;
        arrival.bytes += chunk.length;
        held += chunk.length;
        for (const [oldest, { bytes: sent }] of arriving) {
          if (held <= bytes) break;
          if (sent === 0) continue;
          forget(oldest);
          oldest.destroy();
          onDropped();
        }
      });
    },
    stop: () => clearInterval(check),
  };
}

export interface ConnectionLimits {
  /** How many may be open over which nothing was asked yet, and how many others. */
  readonly max: number;
  readonly onDropped: () => void;
}

/**
 * Follows the connections of an HTTP server. Each takes memory, 60 KiB with TLS, so they are bounded: when there are too many, one of the
 * address that has the most is closed, the one that was quiet for the longest time. Those over which nothing was asked yet are counted
 * apart: a client that opens thousands does not get in the way of those that ask.
 *
 * It also bounds a stop. `server.close()` alone waits for every connection, also for one of TLS that never sent a request. Call
 * it before the server listens.
 */
export function followConnections(server: Server, { max, onDropped }: ConnectionLimits): { destroyAll(): void } {
  /** By their clients' addresses, because a request knows only the TLS socket; the one that was quiet for the longest time first. */
  const silent = createFairMap<Socket>(max);
  const used = createFairMap<Socket>(max);

  server.on('connection', (socket: Socket) => {
    const client = clientOf(socket);
    add(silent, client, socket);
    socket.once('close', () => {
      for (const open of [silent, used]) if (open.get(client) === socket) open.delete(client);
    });
  });
  server.on('request', (request: { readonly socket: Socket }) => {
    const client = clientOf(request.socket);
    const socket = silent.get(client) ?? used.get(client);
    if (socket === undefined) return;
    silent.delete(client);
    used.delete(client);
    add(used, client, socket);
  });

  function add(open: FairMap<Socket>, client: string, socket: Socket): void {
    const dropped = open.set(client, socket, { origin: socket.remoteAddress ?? '', part: '' });
    if (dropped === undefined) return;
    dropped.destroy();
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
