import type { ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import { watchResource } from '../../../../src/cluster/watch/watch-cache.ts';
import type { WatchOptions, WatchState } from '../../../../src/cluster/watch/watch-options.ts';
import { captureLog } from '../../captured-log.ts';
import { eventually } from '../../eventually.ts';
import { answer, clientFor, type Received, refusal, startFakeApi } from '../client/fake-api.ts';

export const PATH = '/apis/test/v1/things';

/** A watch that the cache has open. */
export interface OpenWatch {
  readonly query: Received['query'];
  /** Text as it is. */
  write(text: string): void;
  send(type: string, object: object): void;
  /** All objects, and that these are all: as a watch with `sendInitialEvents` begins. */
  sendAll(): void;
  /** In good order, as the API server does when `timeoutSeconds` have passed. */
  end(): void;
  break(): void;
}

export interface FakeThings {
  readonly url: string;
  /** By name: uid and value. Their resourceVersions are in the order of setting. */
  set(name: string, uid: string, text: string): object;
  delete(name: string): object;
  /** Advances without a change of these objects, as other resources' changes do. */
  version: number;
  /** Answers in place of the server while set; undefined serves as usual. */
  instead: ((request: Received, response: ServerResponse) => boolean) | undefined;
  readonly watches: OpenWatch[];
  /** The queries of all lists so far, without the looks at the newest version (limit 1). */
  lists(): Received['query'][];
  requests(): Received[];
  openConnections(): number;
}

/** An API server with one kind of object: lists by itself, and sends what the test says. */
export async function startFakeThings(): Promise<FakeThings> {
  const objects = new Map<string, object>();
  const watches: OpenWatch[] = [];
  const api = await startFakeApi((request, response) => {
    if (things.instead?.(request, response)) return;
    if (request.query.watch) {
      response.flushHeaders();
      const write = (text: string) => void response.write(text);
      const send = (type: string, object: object) => write(`${JSON.stringify({ type, object })}\n`);
      watches.push({
        query: request.query,
        write,
        send,
        sendAll() {
          for (const object of objects.values()) send('ADDED', object);
          const annotations = { 'k8s.io/initial-events-end': 'true' };
          send('BOOKMARK', { metadata: { resourceVersion: String(things.version), annotations } });
        },
        end: () => void response.end(),
        break: () => void request.socket.destroy(),
      });
      return;
    }
    const from = Number(request.query.continue ?? 0);
    const to = from + Number(request.query.limit);
    const rest = to < objects.size ? { continue: String(to) } : {};
    const metadata = { resourceVersion: String(things.version), ...rest };
    answer(response, { metadata, items: [...objects.values()].slice(from, to) });
  });
  const things: FakeThings = {
    url: api.url,
    version: 100,
    instead: undefined,
    watches,
    set(name, uid, text) {
      const object = { metadata: { name, uid, resourceVersion: String(++things.version) }, text };
      objects.set(name, object);
      return object;
    },
    delete(name) {
      const object = objects.get(name) as { metadata: object };
      objects.delete(name);
      return { ...object, metadata: { ...object.metadata, resourceVersion: String(++things.version) } };
    },
    lists: () => api.received.map(({ query }) => query).filter(({ watch, limit }) => !watch && limit !== '1'),
    requests: () => api.received,
    openConnections: () => api.connections().open,
  };
  return things;
}

/** A cache of the things with short timings, what it told, and what it logged. Stopped with the running test. */
export async function watchThings(things: FakeThings, options: Partial<WatchOptions<string>> = {}) {
  const { client } = await clientFor(things.url);
  const { log, lines } = captureLog();
  const changes: string[] = [];
  const states: WatchState[] = [];
  const cache = watchResource<string>({
    client,
    path: PATH,
    pageSize: 2,
    project(object) {
      const { text } = object as { text: string };
      if (text === 'unreadable') throw new Error('on purpose');
      return text;
    },
    onChange: ({ type, entry }) => changes.push(`${type} ${entry.name}=${entry.value}`),
    onState: (state) => states.push(state),
    log,
    ...options,
    timings: { watchMs: 30_000, graceMs: 100, backOffMinMs: 5, backOffMaxMs: 20, ...options.timings },
  });
  onTestFinished(() => cache.stop());
  return {
    client,
    cache,
    states,
    takeChanges: () => changes.splice(0),
    logged: () => lines().map(({ msg }) => msg),
    values: () => Object.fromEntries([...cache.entries()].map(({ name, value }) => [name, value])),
  };
}

/** The latest watch, once there are as many as that. */
export async function watchNumber(things: FakeThings, count: number): Promise<OpenWatch> {
  return eventually(() => {
    const watch = things.watches[count - 1];
    if (!watch) throw new Error(`there are only ${things.watches.length} watches`);
    return watch;
  });
}

/** Answers requests of one sort with a refusal, as long as `times` says. */
export function refuse(
  things: FakeThings,
  which: 'list' | 'watch' | 'all',
  [code, reason]: [number, string],
  times = Number.POSITIVE_INFINITY,
): { count: number } {
  const seen = { count: 0 };
  things.instead = ({ query }, response) => {
    const kind = query.watch ? 'watch' : 'list';
    if ((which !== 'all' && which !== kind) || seen.count >= times) return false;
    seen.count++;
    answer(response, refusal(code, reason, 'on purpose'), code);
    return true;
  };
  return seen;
}
