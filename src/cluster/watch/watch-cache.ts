import { createBackOff, retryAfterOf } from '../../runtime/back-off.ts';
import { startDeadline } from '../../runtime/deadline.ts';
import { followFault } from '../../runtime/fault-log.ts';
import { pause } from '../../runtime/pause.ts';
import { startTimer } from '../../runtime/timer.ts';
import type { ApiClient } from '../client/api-client.ts';
import { isExpired, isForbidden, isNotServed } from '../client/api-error.ts';
import { listPages } from '../list/list-pages.ts';
import { createCachedObjects, type Entry, type ObjectName } from './cached-objects.ts';
import { changedObject, endsInitialEvents, refusesInitialEvents, takeEvent } from './watch-events.ts';
import { watchFault } from './watch-fault.ts';
import type { WatchOptions, WatchState } from './watch-options.ts';
import {
  afterBreak,
  afterCheck,
  afterEnd,
  afterEvent,
  afterExpiry,
  afterFailure,
  afterList,
  FIRST_POSITION,
  isListDue,
  RELIST_RETRY_MS,
} from './watch-position.ts';
import { jittered, WATCH_TIMINGS } from './watch-timings.ts';

/** A replica answers requests while it lists, and reads a page at once. Of large objects, fewer fit into a page: see {@link listPages}. */
const PAGE_SIZE = 100;
/** A watch that lasted this long, or received an event, is progress. */
const PROGRESS_MS = 1_000;
const INITIAL_EVENTS = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' };
/** The clients whose API servers refuse that. The leader has a new client each term (leaderClient), and so tries again after an upgrade of the API servers. */
const withoutStreams = new WeakSet<ApiClient>();
/** A watch that the API server ended this much before its requested end was ended early. */
const EARLY_MS = 1_000;

/** A current copy of the objects of an API path. */
export interface WatchCache<T> {
  /** Resolves after the first complete list. Rejects only if stopped before. */
  readonly synced: Promise<void>;
  /** Whether the first list is complete. */
  isSynced(): boolean;
  /** Whether the right to list or watch is missing, by the last attempt. */
  isRefused(): boolean;
  get(name: string, namespace?: string): Entry<T> | undefined;
  /** Whether the object exists, also if it has never been read: {@link WatchOptions.project} failed for every version. */
  has(name: string, namespace?: string): boolean;
  /** Whether its last version could not be read: {@link get} returns an earlier one, or none. */
  isUnreadable(name: string, namespace?: string): boolean;
  /** The objects that {@link isUnreadable} is true of. */
  unreadable(): Iterable<ObjectName>;
  entries(): Iterable<Entry<T>>;
  readonly size: number;
  /**
   * When the cache was last known to be current, in milliseconds since the epoch: a list was complete, an event or bookmark arrived, or the API
   * server ended a watch normally. Undefined before the first list.
   */
  lastCurrent(): number | undefined;
  /** How long ago that was, in milliseconds, by a monotonic clock. */
  ageMs(): number | undefined;
  /** Ends the watch. No callback is called once this has resolved. */
  stop(): Promise<void>;
}

/**
 * Lists and watches a path until stopped, in every state of the connection and the API server:
 * - Known objects stay while the API server is unreachable, does not know the path, or refuses.
 * - A list is compared with the known objects, so they are never removed all at once. It is requested at the start, about once an hour, when events
 * are no longer available (410), and when etcd was set back to an earlier state. Where the objects are few, the list is the beginning of the watch. If
 * that is not complete in time, the objects are listed page by page.
 * - A dead connection is noticed within 35 s, see {@link WATCH_TIMINGS}.
 */
export function watchResource<T>(options: WatchOptions<T>): WatchCache<T> {
  const { client, path, log, pageSize = PAGE_SIZE, hasNewSpec } = options;
  const timings = { ...WATCH_TIMINGS, ...options.timings };
  const relistRetryMs = Math.min(RELIST_RETRY_MS, timings.relistMs);
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

  let position = FIRST_POSITION;
  let current: { readonly at: number; readonly tick: number } | undefined;
  let state: WatchState | undefined;
  /** Whether the next list may be the beginning of the watch. */
  let mayStream = options.isStreamed ?? false;

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
        if (isListDue(position, performance.now())) {
          if (mayStream && !withoutStreams.has(client)) {
            await stream();
            continue;
          }
          await (options.fromNow ? beginNow() : list());
        } else if (position.isInDoubt) {
          position = afterCheck(position, await newestVersion().catch(unlessForbidden));
        }
        if (position.version !== undefined) await watch(position.version);
      } catch (error) {
        if (signal.aborted) break;
        await recover(error);
      }
    }
    synced.reject(new Error(`watching ${path} was stopped before its first list was complete`));
  }

  async function list(): Promise<void> {
    const keys = new Set<string>();
    let version: string | undefined;
    let isOneState = true;
    for await (const page of listPages(client, path, { query, pageSize, signal })) {
      signal.throwIfAborted();
      for (const item of page.items) {
        const key = objects.listed(item);
        if (key !== undefined) keys.add(key);
      }
      isOneState &&= version === undefined || version === page.resourceVersion;
      version = page.resourceVersion;
    }
    // Objects of the pages before the list expired may have changed since: events from the newer state do not say so.
    complete(version, keys, isOneState ? jittered(timings.relistMs) : relistRetryMs);
  }

  /** Nothing is listed once an hour: that would forget what is known. */
  async function beginNow(): Promise<void> {
    const version = await newestVersion();
    if (version !== undefined) complete(version, new Set(), Number.POSITIVE_INFINITY);
  }

  /** @param keys all objects that exist */
  function complete(version: string | undefined, keys: ReadonlySet<string>, relistMs: number): void {
    objects.retain(keys);
    position = afterList(version, performance.now() + relistMs);
    markCurrent();
    guard('onListed', () => options.onListed?.());
    report({ connected: true }, true);
    mayStream = options.isStreamed ?? false;
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
    let initial = from === undefined ? new Set<string>() : undefined;
    let completion: NodeJS.Timeout | undefined;
    const start = initial ? INITIAL_EVENTS : { resourceVersion: from };
    try {
      const events = client.lines(path, {
        query: { ...query, watch: true, allowWatchBookmarks: true, timeoutSeconds, ...start },
        signal: bound.signal,
        idleMs: boundMs,
        onOpen() {
          openedAt = performance.now();
          if (initial) {
            completion = startTimer(() => bound.abort(incomplete()), timings.streamedListMs).unref();
            return;
          }
          fault.ended();
          report({ connected: true });
        },
      });
      for await (const event of events) {
        if (signal.aborted) return;
        if (initial) {
          if (takeInitialEvent(event, initial)) {
            clearTimeout(completion);
            initial = undefined;
          }
          continue;
        }
        if (needsList(event)) {
          position = afterExpiry(position);
          backOff.reset();
          return;
        }
        position = afterEvent(position, takeEvent(event, path, objects));
        markCurrent();
        backOff.reset();
      }
      if (initial) throw new Error(`GET ${path}: the watch ended before it had sent all objects`);
      const lastedMs = openedAt === undefined ? Number.POSITIVE_INFINITY : performance.now() - openedAt;
      endOfWatch(from, lastedMs, timeoutSeconds * 1_000);
    } catch (error) {
      // Pages follow a list that is not complete: an API server whose cache is behind etcd answers the next stream no better. They need another right.
      if (initial) mayStream = isForbidden(error);
      if (openedAt !== undefined) position = afterBreak(position, from);
      throw error;
    } finally {
      bound.clear();
      clearTimeout(completion);
      if (openedAt !== undefined && performance.now() - openedAt >= PROGRESS_MS) backOff.reset();
    }
  }

  /** Not a TimeoutError: the API server may be healthy, so other connections to it are not in doubt. */
  function incomplete(): Error {
    return new Error(`not all objects were sent within ${timings.streamedListMs} ms`);
  }

  /** @returns whether it is the last one: the list is complete */
  function takeInitialEvent(event: unknown, keys: Set<string>): boolean {
    // Read first: the event is empty once it is taken.
    const isLast = endsInitialEvents(event);
    const version = takeEvent(event, path, objects, keys);
    if (!isLast) return false;
    complete(version, keys, jittered(timings.relistMs));
    fault.ended();
    backOff.reset();
    return true;
  }

  /**
   * The API server ended the watch without an error.
   * @throws Error if it ended at once and sent nothing
   */
  function endOfWatch(from: string | undefined, lastedMs: number, requestedMs: number): void {
    const isFruitless = lastedMs < PROGRESS_MS && position.version === from;
    // The definition may have changed: see WatchOptions.hasNewSpec.
    if (hasNewSpec && lastedMs < requestedMs - EARLY_MS) position = afterExpiry(position);
    if (isFruitless) throw new Error(`GET ${path}: the watch ended as soon as it began`);
    markCurrent();
    position = afterEnd(position);
  }

  function needsList(event: unknown): boolean {
    if (hasNewSpec === undefined) return false;
    const change = changedObject(event);
    return change !== undefined && hasNewSpec(change.object, objects.get(change.name, change.namespace));
  }

  async function recover(error: unknown): Promise<void> {
    const isHistoryLost = isExpired(error) || isNotServed(error);
    position = afterFailure(position, isHistoryLost, { now: performance.now(), retryMs: relistRetryMs });
    if (isExpired(error)) {
      log.debug(`listing ${path} anew: ${error.message}`);
    } else {
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
