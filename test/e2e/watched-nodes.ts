import { onTestFinished } from 'vitest';
import { type ApiClient, connect } from '../../src/cluster/client/api-client.ts';
import type { WatchCache } from '../../src/cluster/watch/watch-cache.ts';
import { watchResource } from '../../src/cluster/watch/watch-cache.ts';
import type { WatchOptions } from '../../src/cluster/watch/watch-options.ts';
import type { WatchTimings } from '../../src/cluster/watch/watch-timings.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { admin, type User } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { captureLog } from '../unit/captured-log.ts';

export const NODES = '/api/v1/nodes';
/** Of a watch and of what comes after it, so that tests need not wait for half a minute. */
export const SHORT: Partial<WatchTimings> = { watchMs: 5_000, graceMs: 1_000 };
const PARALLEL_REQUESTS = 20;
export const BOUND_MS = 30_000;

type Query = Readonly<Record<string, unknown>>;

/** When a list or a watch began and ended, in milliseconds. */
interface Attempt {
  readonly beganAt: number;
  readonly endedAt: number;
}

/** A client that remembers what it was asked, and how lists ended. */
export interface RecordingClient extends ApiClient {
  readonly lists: { query: Query; status: number }[];
  readonly watches: Query[];
  /** Lists and watches that have ended or run now, in the order of their beginning. */
  readonly attempts: readonly Attempt[];
}

function recording(client: ApiClient, beforeList: (query: Query) => Promise<void>): RecordingClient {
  const attempts: { beganAt: number; endedAt: number }[] = [];
  const begin = () => {
    const attempt = { beganAt: performance.now(), endedAt: Number.POSITIVE_INFINITY };
    attempts.push(attempt);
    return () => {
      attempt.endedAt = performance.now();
    };
  };
  async function* until<T>(lines: AsyncIterable<T>, end: () => void) {
    try {
      yield* lines;
    } finally {
      end();
    }
  }
  const recorder: RecordingClient = {
    ...client,
    lists: [],
    watches: [],
    attempts,
    async request(method, path, options = {}) {
      const query = options.query ?? {};
      await beforeList(query);
      const end = begin();
      try {
        const answer = await client.request(method, path, options);
        recorder.lists.push({ query, status: 200 });
        return answer as never;
      } catch (error) {
        recorder.lists.push({ query, status: (error as { status?: number }).status ?? 0 });
        throw error;
      } finally {
        end();
      }
    },
    lines(path, options) {
      recorder.watches.push(options.query ?? {});
      return until(client.lines(path, options), begin());
    },
  };
  return recorder;
}

export interface WatchedObjects {
  readonly client: RecordingClient;
  readonly cache: WatchCache<string>;
  /** All changes so far, as `type name`. */
  readonly changes: string[];
  logged(): string[];
  /** Name to value. */
  values(): Record<string, string>;
}

export interface WatchedAs {
  /** The URL of a proxy. */
  readonly through?: string;
  readonly user?: User;
  /** Awaited before each list. */
  readonly beforeList?: (query: Query) => Promise<void>;
}

/** Watches nodes, or another path, and keeps of each the label `v`. Ends with the running test. */
export async function watchObjects(
  cp: ControlPlane,
  options: Partial<WatchOptions<string>> & WatchedAs = {},
): Promise<WatchedObjects> {
  const { through, user = admin, beforeList = async () => {}, ...given } = options;
  const kubeconfig = await cp.kubeconfigFile(user, through);
  const client = recording(await connect({ kubeconfig, userAgent: 'test' }), beforeList);
  const { log, lines } = captureLog();
  const changes: string[] = [];
  const cache = watchResource<string>({
    client,
    path: NODES,
    timings: SHORT,
    project: (object) => (object as { metadata: { labels?: Record<string, string> } }).metadata.labels?.v ?? '',
    onChange: ({ type, entry }) => changes.push(`${type} ${entry.name}`),
    log,
    ...given,
  });
  onTestFinished(async () => {
    await cache.stop();
    client.close();
  });
  return {
    client,
    cache,
    changes,
    logged: () => lines().map(({ msg }) => msg),
    values: () => Object.fromEntries([...cache.entries()].map(({ name, value }) => [name, value])),
  };
}

/** The pauses since the first attempt that ended after `since`, each with the time from that end to the pause. In milliseconds. */
export function pausesSince({ attempts }: RecordingClient, since: number): { afterMs: number; pauseMs: number }[] {
  const [first, ...later] = attempts.filter(({ endedAt }) => endedAt > since);
  let last = first;
  return later.map((attempt) => {
    const pausedAt = last?.endedAt ?? 0;
    last = attempt;
    return { afterMs: pausedAt - (first?.endedAt ?? 0), pauseMs: attempt.beganAt - pausedAt };
  });
}

/** How long it takes, in milliseconds. */
async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** How long it took until the condition held, in milliseconds. */
export function timeUntil(condition: () => boolean, what: () => string): Promise<number> {
  return timeOf(() => waitUntil(() => condition() || undefined, { timeoutMs: BOUND_MS, otherwise: what }));
}

/** The cache shows what the API server has: as many objects, each in the same version. */
export async function untilRight(cp: ControlPlane, { cache, values }: WatchedObjects): Promise<number> {
  const { body } = await cp.request<{ items: { metadata: { name: string; uid: string; resourceVersion: string } }[] }>(
    admin,
    'GET',
    NODES,
  );
  const isRight = () =>
    cache.size === body.items.length &&
    body.items.every(({ metadata: { name, uid, resourceVersion } }) => {
      const entry = cache.get(name);
      return entry?.uid === uid && entry.resourceVersion === resourceVersion;
    });
  return timeUntil(isRight, () => `the cache is not right: ${JSON.stringify(values())}`);
}

export async function createPlainNodes(cp: ControlPlane, names: readonly string[], labels = {}): Promise<void> {
  await inParallel(names, (name) => cp.request(admin, 'POST', NODES, { body: { metadata: { name, labels } } }));
}

export async function deleteNodes(cp: ControlPlane, names: readonly string[]): Promise<void> {
  await inParallel(names, (name) => cp.request(admin, 'DELETE', `${NODES}/${name}`));
}

export async function labelNode(cp: ControlPlane, name: string, v: string): Promise<void> {
  const body = { metadata: { labels: { v } } };
  await cp.request(admin, 'PATCH', `${NODES}/${name}`, { body, contentType: MERGE_PATCH });
}

async function inParallel(names: readonly string[], act: (name: string) => Promise<{ status: number }>): Promise<void> {
  const rest = [...names];
  await Promise.all(
    Array.from({ length: PARALLEL_REQUESTS }, async () => {
      for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
        const { status } = await act(name);
        if (status >= 300) throw new Error(`${name}: ${status}`);
      }
    }),
  );
}
