import type { IncomingMessage } from 'node:http';
import type { Server, Socket } from 'node:net';
import { createFairMap, type FairMap } from '../runtime/fair-map.ts';

/** Limits for clients, in milliseconds. */
export interface ClientTimeouts {
  readonly keepAlive: number;
  /** From the start of a connection, or from the first byte of a further request, to the end of the headers. */
  readonly headers: number;
  /** From there to the end of the request. */
  readonly body: number;
  readonly handshake: number;
  /** How often requests over their limits are searched: they may take this much longer. */
  readonly checkInterval: number;
}

export const CLIENT_TIMEOUTS: ClientTimeouts = {
  // The API server keeps idle connections for 90 s. If this end closes first, a request that is being sent at that moment is lost, and the API server
  // does not send it again.
  keepAlive: 120_000,
  // The API server opens some connections in reserve, and a call may arrive when one is closed.
  headers: 100_000,
  // A webhook's timeout is 30 s at most and 10 s by default: a slower client is no API server.
  body: 10_000,
  handshake: 5_000,
  checkInterval: 1_000,
};

export interface ArrivalLimits {
  /** For all unfinished bodies together. */
  readonly bytes: number;
  /** For each request, in milliseconds, from the end of its headers to its end. */
  readonly time: number;
  /** How often the time is checked, in milliseconds. */
  readonly checkInterval: number;
  /** A connection was closed, because all unfinished requests together exceed the limit. */
  readonly onClosed: () => void;
}

export interface Arrivals {
  /** The headers of the request are complete. `refuse` is called if the rest takes too long. */
  begin(message: IncomingMessage, refuse: () => void): void;
  /** Its body will be read, and kept in memory. */
  reads(message: IncomingMessage): void;
  stop(): void;
}

/**
 * Bounds the memory of unfinished requests. If they exceed the limit, the oldest one is closed: a request of an API server takes milliseconds.
 */
export function followArrivals({ bytes, time, checkInterval, onClosed }: ArrivalLimits): Arrivals {
  /** The oldest first. A request that was refused for its age stays until its connection ends. */
  const arriving = new Map<
    IncomingMessage,
    { readonly since: number; bytes: number; refuse?: (() => void) | undefined }
  >();
  let held = 0;

  function forget(message: IncomingMessage): void {
    held -= arriving.get(message)?.bytes ?? 0;
    arriving.delete(message);
  }

  // One timer for all: a timer for each request costs more than judging it.
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
        if (held <= bytes) return;
        for (const [oldest, { bytes: sent }] of arriving) {
          if (held <= bytes) break;
          if (sent === 0) continue;
          forget(oldest);
          oldest.destroy();
          onClosed();
        }
      });
    },
    stop: () => clearInterval(check),
  };
}

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
    const client = clientOf(socket);
    add(silent, client, socket);
    socket.once('close', () => {
      for (const open of [silent, used]) if (open.get(client) === socket) open.delete(client);
    });
  });
  server.on('request', (request: { readonly socket: Socket }) => {
    const client = clientOf(request.socket);
    if (used.touch(client)) return;
    const socket = silent.get(client);
    if (socket === undefined) return;
    silent.delete(client);
    add(used, client, socket);
  });

  function add(open: FairMap<Socket>, client: string, socket: Socket): void {
    const closed = open.set(client, socket, { origin: socket.remoteAddress ?? '', part: '' });
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

function clientOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
