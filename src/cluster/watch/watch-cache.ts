import { createBackOff, retryAfterOf } from '../../runtime/back-off.ts';
import { startDeadline } from '../../runtime/deadline.ts';
import { followFault } from '../../runtime/fault-log.ts';
import { pause } from '../../runtime/pause.ts';
import type { ApiClient } from '../client/api-client.ts';
import { isExpired, isForbidden, isNotServed } from '../client/api-error.ts';
import { listPages } from '../list/list-pages.ts';
import { createCachedObjects } from './cached-objects.ts';
import { compareResourceVersions } from './resource-version.ts';
import { changedObject, endsInitialEvents, refusesInitialEvents, takeEvent } from './watch-events.ts';
import { watchFault } from './watch-fault.ts';
import { jittered, WATCH_TIMINGS, type WatchCache, type WatchOptions, type WatchState } from './watch-options.ts';

/** A replica answers requests while it lists, and reads a page at once. Of large objects, fewer fit into a page: see {@link listPages}. */
const PAGE_SIZE = 100;
/** A watch that lasted this long, or received an event, is progress. */
const PROGRESS_MS = 1_000;
/** From here on the cause is not the connection: the events of the watch are invalid. */
const MAX_FRUITLESS_WATCHES = 2;
const INITIAL_EVENTS = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' };
/** The clients whose API servers refuse that. The leader has a new client each term (leaderClient), and so tries again after an upgrade of the API servers. */
const withoutStreams = new WeakSet<ApiClient>();
/** A watch that the API server ended this much before its requested end was ended early. */
const EARLY_MS = 1_000;
/** A failed list that is not needed yet is repeated after this long. */
const RELIST_RETRY_MS = 60_000;

/**
 * Lists and watches a path until stopped, in every state of the connection and the API server:
 * - Known objects stay while the API server is unreachable, does not know the path, or refuses.
 * - A list is compared with the known objects, so they are never removed all at once. It is requested at the start, about once an hour, when events
 * are no longer available (410), and when etcd was set back to an earlier state. Where the objects are few, the list is the beginning of the watch.
 * - A dead connection is noticed within 35 s, see {@link WATCH_TIMINGS}.
 */
export function watchResource<T>(options: WatchOptions<T>): WatchCache<T> {
  const { client, path, log, pageSize = PAGE_SIZE, hasNewSpec } = options;
  const timings = { ...WATCH_TIMINGS, ...options.timings };
  const query = { fieldSelector: options.fieldSelector, labelSelector: options.labelSelector };
  const backOff = createBackOff({ minMs: timings.backOffMinMs, maxMs: timings.backOffMaxMs });
  const fault = followFault(log, `watching ${path} again`);
  const stopping = new AbortController();
  const { signal } = stopping;
  const synced = Promise.withResolvers<void>();
  synced.promise.catch(() => {});

  const objects = createCachedObjects<T>({
    project: options.project,
    onChange: (change) => guard('onChange', () => options.onChange?.(change)),
    onUnreadableChange: (object) => guard('onUnreadableChange', () => options.onUnreadableChange?.(object)),
    onUnreadable: (what, err) => log.error({ err }, `cannot read ${what} of ${path}; what was last read of it stays`),
  });

  /** The resourceVersion of the next watch. Undefined if a list is due. */
  let version: string | undefined;
  let relistAt = 0;
  let current: { readonly at: number; readonly tick: number } | undefined;
  let state: WatchState | undefined;
  /** Whether something failed since the state of the API server was last checked. */
  let inDoubt = false;
  let fruitless = 0;

  const running = run();

  return {
    synced: synced.promise,
    isSynced: () => current !== undefined,
    isRefused: () => isRefused(state),
    get: (name, namespace = '') => objects.get(name, namespace),
    has: (name, namespace = '') => objects.has(name, namespace),
    isUnreadable: (name, namespace = '') => objects.isUnreadable(name, namespace),
    unreadable: () => objects.unreadable(),
    entries: () => objects.values(),
    get size() {
      return objects.size;
    },
    lastCurrent: () => current?.at,
    ageMs: () => current && performance.now() - current.tick,
    async stop() {
      stopping.abort(new Error('stopped'));
      await running;
    },
  };

  async function run(): Promise<void> {
    while (!signal.aborted) {
      try {
        if (version === undefined || performance.now() >= relistAt) {
          if (options.isStreamed && !withoutStreams.has(client)) {
            await stream();
            continue;
          }
          await (options.fromNow ? beginNow() : list());
        } else if (inDoubt) await checkHistory();
        if (version !== undefined) await watch(version);
      } catch (error) {
        if (signal.aborted) break;
        await recover(error);
      }
    }
    synced.reject(new Error(`watching ${path} was stopped before its first list was complete`));
  }

  async function list(): Promise<void> {
    const keys = new Set<string>();
    let listed: string | undefined;
    let isOneState = true;
    for await (const page of listPages(client, path, { query, pageSize, signal })) {
      signal.throwIfAborted();
      for (const item of page.items) {
        const key = objects.listed(item);
        if (key !== undefined) keys.add(key);
      }
      isOneState &&= listed === undefined || listed === page.resourceVersion;
      listed = page.resourceVersion;
    }
    version = listed;
    // Objects of the pages before the list expired may have changed since: events from the newer state do not say so.
    complete(keys, isOneState ? jittered(timings.relistMs) : Math.min(RELIST_RETRY_MS, timings.relistMs));
  }

  /** Nothing is listed once an hour: that would forget what is known. */
  async function beginNow(): Promise<void> {
    version = await newestVersion();
    if (version !== undefined) complete(new Set(), Number.POSITIVE_INFINITY);
  }

  /** @param keys all objects that exist */
  function complete(keys: ReadonlySet<string>, relistMs: number): void {
    objects.retain(keys);
    relistAt = performance.now() + relistMs;
    inDoubt = false;
    fruitless = 0;
    markCurrent();
    guard('onListed', () => options.onListed?.());
    report({ connected: true }, true);
    synced.resolve();
  }

  /** The list and the watch after it in one request. */
  async function stream(): Promise<void> {
    try {
      await watch(undefined);
    } catch (error) {
      if (!refusesInitialEvents(error)) throw error;
      withoutStreams.add(client);
    }
  }

  /**
   * After etcd was set back to an earlier state (a restored backup), a watch from a later resourceVersion waits silently until the store reaches it.
   * etcd is set back only while the API server is down, so this is checked only after failures.
   */
  async function checkHistory(): Promise<void> {
    const now = await newestVersion().catch(unlessForbidden);
    if (now !== undefined && version !== undefined && (compareResourceVersions(now, version) ?? 0) < 0)
      version = undefined;
    else inDoubt = false;
  }

  async function newestVersion(): Promise<string | undefined> {
    const head = listPages(client, path, { query, pageSize: 1, signal });
    try {
      const { value } = await head.next();
      return value?.resourceVersion;
    } finally {
      await head.return(undefined);
    }
  }

  /** @param from undefined: from all objects that exist */
  async function watch(from: string | undefined): Promise<void> {
    const timeoutSeconds = Math.max(1, Math.ceil(jittered(timings.watchMs) / 1000));
    const boundMs = timeoutSeconds * 1000 + timings.graceMs;
    const bound = startDeadline(boundMs, `the connection is dead: the watch went on for ${boundMs} ms`, signal);
    let openedAt: number | undefined;
    /** The keys of the objects so far, until all that exist were sent. */
    let listed = from === undefined ? new Set<string>() : undefined;
    const start = listed ? INITIAL_EVENTS : { resourceVersion: from };
    try {
      const events = client.lines(path, {
        query: { ...query, watch: true, allowWatchBookmarks: true, timeoutSeconds, ...start },
        signal: bound.signal,
        idleMs: boundMs,
        onOpen() {
          openedAt = performance.now();
          fault.ended();
          if (!listed) report({ connected: true });
        },
      });
      for await (const event of events) {
        if (signal.aborted) return;
        if (listed) {
          if (takeInitialEvent(event, listed)) listed = undefined;
          continue;
        }
        if (needsList(event)) {
          version = undefined;
          backOff.reset();
          return;
        }
        version = takeEvent(event, path, objects);
        markCurrent();
        backOff.reset();
      }
      if (listed) throw new Error(`GET ${path}: the watch ended before it had sent all objects`);
      const lastedMs = openedAt === undefined ? Number.POSITIVE_INFINITY : performance.now() - openedAt;
      endOfWatch(from, lastedMs, timeoutSeconds * 1_000);
    } catch (error) {
      if (openedAt !== undefined && version === from) fruitless++;
      throw error;
    } finally {
      bound.clear();
      if (openedAt !== undefined && performance.now() - openedAt >= PROGRESS_MS) backOff.reset();
    }
  }

  /** @returns whether it is the last one: the list is complete */
  function takeInitialEvent(event: unknown, keys: Set<string>): boolean {
    // Read first: the event is empty once it is taken.
    const isLast = endsInitialEvents(event);
    const last = takeEvent(event, path, objects, keys);
    if (!isLast) return false;
    version = last;
    complete(keys, jittered(timings.relistMs));
    backOff.reset();
    return true;
  }

  /**
   * The API server ended the watch without an error.
   * @throws Error if it ended at once and sent nothing
   */
  function endOfWatch(from: string | undefined, lastedMs: number, requestedMs: number): void {
    const isFruitless = lastedMs < PROGRESS_MS && version === from;
    // The definition may have changed: see WatchOptions.hasNewSpec.
    if (hasNewSpec && lastedMs < requestedMs - EARLY_MS) version = undefined;
    if (isFruitless) throw new Error(`GET ${path}: the watch ended as soon as it began`);
    markCurrent();
    fruitless = 0;
  }

  function needsList(event: unknown): boolean {
    if (hasNewSpec === undefined) return false;
    const change = changedObject(event);
    return change !== undefined && hasNewSpec(change.object, objects.get(change.name, change.namespace));
  }

  async function recover(error: unknown): Promise<void> {
    inDoubt = true;
    // A list that was due, but not needed: events are still available.
    relistAt = Math.max(relistAt, performance.now() + Math.min(RELIST_RETRY_MS, timings.relistMs));
    if (isExpired(error)) {
      log.debug(`listing ${path} anew: ${error.message}`);
      version = undefined;
    } else {
      if (isNotServed(error) || fruitless >= MAX_FRUITLESS_WATCHES) version = undefined;
      const [kind, message] = watchFault(error, path);
      fault.occurred(kind, message);
      report({
        connected: false,
        error: (error as Error).message,
        isNotServed: isNotServed(error),
        isForbidden: isForbidden(error),
      });
    }
    await pause(backOff.next(retryAfterOf(error)), signal);
  }

  function markCurrent(): void {
    current = { at: Date.now(), tick: performance.now() };
  }

  function report(next: WatchState, always = false): void {
    const changed =
      state?.connected !== next.connected ||
      (!next.connected && state.connected === false && state.error !== next.error);
    const isRefusal = current === undefined && isRefused(state) !== isRefused(next);
    state = next;
    if (always || changed) guard('onState', () => options.onState?.(next));
    if (isRefusal) guard('onRefusal', () => options.onRefusal?.());
  }

  function guard(what: string, call: () => void): void {
    try {
      call();
    } catch (err) {
      log.error({ err }, `${what} of ${path} failed`);
    }
  }
}

function isRefused(state: WatchState | undefined): boolean {
  return state?.connected === false && state.isForbidden;
}

/** The right to list was withdrawn: what the watch brings is better than nothing. */
function unlessForbidden(error: unknown): undefined {
  if (!isForbidden(error)) throw error;
}
