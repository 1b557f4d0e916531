import type { ServerResponse } from 'node:http';

/** One event of a stream. Its data is made when there is a client. */
export interface StreamEvent {
  readonly type: string;
  /** Tells a reader where to continue. Absent for events that mean nothing later. */
  readonly id?: string;
  /** JSON on one line. */
  readonly data: () => string;
}

export interface StreamLimits {
  readonly clients: number;
  /** The maximum number of events that wait for one client. */
  readonly waitingEvents: number;
  /** The maximum number of bytes that wait in a client's connection. */
  readonly bufferedBytes: number;
  /** The interval of heartbeats, in milliseconds, by which both ends notice a dead connection. */
  readonly heartbeatMs: number;
}

export const STREAM_LIMITS: StreamLimits = {
  clients: 20,
  // The latest decisions, and as many again while the client reads them.
  waitingEvents: 400,
  bufferedBytes: 64 * 1024,
  heartbeatMs: 10_000,
};

/** Server-Sent Events (WHATWG HTML, section 9.2) to a bounded number of clients, each with bounded buffers. */
export interface EventStreams {
  /** Answers with a stream that begins with these events, or with 503 if there are too many streams. */
  open(response: ServerResponse, first: readonly StreamEvent[]): void;
  /** Sends the event to all clients. */
  send(event: StreamEvent): void;
  readonly size: number;
  /** Ends all streams. */
  stop(): void;
}

interface Client {
  readonly response: ServerResponse;
  readonly waiting: StreamEvent[];
  /** Whether it has read nothing since the last heartbeat, which already found it behind. */
  stuck: boolean;
}

/** @param headers of each answer */
export function createEventStreams(
  headers: Readonly<Record<string, string>>,
  limits: StreamLimits = STREAM_LIMITS,
): EventStreams {
  const clients = new Set<Client>();
  const heartbeat = setInterval(beat, limits.heartbeatMs).unref();

  return {
    open(response, first) {
      // The client is gone already, and no event would report that again.
      if (response.destroyed) return;
      if (clients.size >= limits.clients) {
        response.writeHead(503, { ...headers, 'content-type': 'text/plain', 'retry-after': '10' });
        response.end('too many streams are open\n');
        return;
      }
      const client: Client = { response, waiting: [...first], stuck: false };
      clients.add(client);
      response.once('close', () => clients.delete(client));
      response.on('drain', () => {
        client.stuck = false;
        pump(client);
      });
      // The client has closed the connection.
      response.on('error', () => response.destroy());
      response.writeHead(200, { ...headers, 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      response.write(`retry: ${RETRY_MS}\n\n`);
      pump(client);
    },
    send(event) {
      for (const client of clients) {
        client.waiting.push(event);
        if (client.waiting.length > limits.waitingEvents) disconnect(client);
        else pump(client);
      }
    },
    get size() {
      return clients.size;
    },
    stop() {
      clearInterval(heartbeat);
      for (const client of [...clients]) disconnect(client);
    },
  };

  function pump({ response, waiting }: Client): void {
    let taken = 0;
    for (const event of waiting) {
      if (response.writableLength >= limits.bufferedBytes) break;
      response.write(textOf(event));
      taken++;
    }
    waiting.splice(0, taken);
  }

  function beat(): void {
    for (const client of [...clients]) {
      const isBehind = client.response.writableLength > 0;
      if (isBehind && client.stuck) {
        disconnect(client);
        continue;
      }
      client.stuck = isBehind;
      if (!isBehind) client.response.write(': \n\n');
    }
  }

  function disconnect(client: Client): void {
    clients.delete(client);
    client.response.destroy();
  }
}

/** After how long a browser reconnects when its stream has ended. */
const RETRY_MS = 1_000;

function textOf({ type, id, data }: StreamEvent): string {
  // Names have no line breaks, but this file does not rely on that.
  const line = id === undefined ? '' : `id: ${id.replace(/[\r\n\0]/g, ' ')}\n`;
  return `event: ${type}\n${line}data: ${data()}\n\n`;
}
