import type { ApiClient, RequestOptions } from '../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import { absent } from '../client/absent.ts';

/** An Event as it stands at the server. */
export interface StoredEvent {
  metadata: { name: string; namespace: string };
  eventTime: string;
  regarding: { kind: string; name: string; namespace?: string; uid?: string };
  reason: string;
  note: string;
  series?: { count: number; lastObservedTime: string };
}

/** How a request is answered: with an error, not before it is given up, or, if undefined, as it should be. */
export type Answer = Error | 'silence' | 'lost' | undefined;

/** An API server that keeps Events, and counts what is asked of it. */
export interface EventServer {
  readonly client: ApiClient;
  readonly events: Map<string, StoredEvent>;
  /** All writes, refused ones among them, in milliseconds since the first. */
  readonly writes: { method: string; path: string; at: number }[];
  readonly reads: string[];
  /** Decides on each request; `lost` is carried out, and its answer does not arrive. */
  answer: (method: string, path: string) => Answer;
  /** How many events are shown, all in all. */
  shown(): number;
}

/** @param uids of the objects that there are, by path; each is as old as `created` says, in milliseconds, or just being created */
export function eventServer(
  uids: Readonly<Record<string, string>> = {},
  created: Readonly<Record<string, number | undefined>> = {},
): EventServer {
  const error = (method: string, path: string, status: number, reason: string) =>
    new ApiError(method, path, status, reason, '');

  function serve(method: string, path: string, body: unknown): unknown {
    if (method === 'GET') {
      const uid = uids[path];
      if (uid === undefined) throw absent(method, path);
      const creationTimestamp = new Date(created[path] ?? Date.now()).toISOString();
      return JSON.stringify({ metadata: { uid, creationTimestamp } });
    }
    if (method === 'POST') {
      const event = structuredClone(body) as StoredEvent;
      const key = `${path}/${event.metadata.name}`;
      if (server.events.has(key)) throw error(method, path, 409, 'AlreadyExists');
      server.events.set(key, event);
      return event;
    }
    const event = server.events.get(path);
    if (!event) throw absent(method, path);
    return Object.assign(event, structuredClone(body));
  }

  const server: EventServer = {
    events: new Map(),
    writes: [],
    reads: [],
    answer: () => undefined,
    shown: () => [...server.events.values()].reduce((sum, { series }) => sum + (series?.count ?? 1), 0),
    client: {
      async request<T>(method: string, path: string, { body, signal, timeoutMs = 10_000 }: RequestOptions = {}) {
        if (method === 'GET') server.reads.push(path);
        else server.writes.push({ method, path, at: performance.now() });
        const answer = server.answer(method, path);
        if (answer instanceof Error) throw answer;
        if (answer === 'silence') await givenUp(timeoutMs, signal);
        const result = serve(method, path, body) as T;
        if (answer === 'lost') throw new Error('socket hang up');
        return result;
      },
      // biome-ignore lint/correctness/useYield: Events are not watched.
      async *lines() {
        throw new Error('not served here');
      },
      namespace: undefined,
      isClockConfirmed: () => true,
      now: () => new Date(),
      server: 'https://events.test',
      close() {},
    },
  };
  return server;
}

function givenUp(timeoutMs: number, signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('no answer')), timeoutMs);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
