import type { Logger } from 'pino';
import type { ApiClient } from '../client/api-client.ts';
import type { Change, Entry } from './cached-objects.ts';

/** How long things take in a watch, in milliseconds. */
export interface WatchTimings {
  /** The API server is asked to end each watch after this long, less up to a fifth by chance. Whole seconds. */
  readonly watchMs: number;
  /** A watch that the API server has not ended this long after it should have is dead. */
  readonly graceMs: number;
  /** The shortest and the longest pause between attempts that fail. */
  readonly backOffMinMs: number;
  readonly backOffMaxMs: number;
  /** Everything is listed anew after this long, less up to a fifth by chance. */
  readonly relistMs: number;
}

/**
 * A connection that is dead without saying so (half-open) is noticed 35 s after its watch began at the latest, because no
 * watch is meant to last longer than 30 s (a list on it: after 20 s). The cache is right again within 45 s; after an outage
 * of the API server, within 10 s of its being back, and the time that lists take.
 */
export const WATCH_TIMINGS: WatchTimings = {
  watchMs: 30_000,
  graceMs: 5_000,
  backOffMinMs: 100,
  backOffMaxMs: 10_000,
  relistMs: 3_600_000,
};

/** The time, less up to a fifth by chance, so that replicas that began together do not stay together. */
export function jittered(ms: number): number {
  return ms * (0.8 + Math.random() / 5);
}

export type WatchState = { readonly connected: true } | { readonly connected: false; readonly error: string };

/** A copy of what a path of the API server shows, kept current. */
export interface WatchCache<T> {
  /** Resolves after the first complete list; rejects only when stopped before. */
  readonly synced: Promise<void>;
  get(name: string, namespace?: string): Entry<T> | undefined;
  entries(): Iterable<Entry<T>>;
  readonly size: number;
  /** Of how many objects the latest version could not be read: {@link WatchOptions.project} failed. */
  readonly unreadable: number;
  /**
   * When the cache was last known to be current, in milliseconds since the epoch: a list was complete, an event or bookmark
   * came, or the API server ended a watch in good order. Undefined before the first list.
   */
  lastCurrent(): number | undefined;
  /** How long ago that was, in milliseconds, by a clock that nobody sets. */
  ageMs(): number | undefined;
  /** Ends the watch; no callback is called once this has resolved. */
  stop(): Promise<void>;
}

export interface WatchOptions<T> {
  readonly client: ApiClient;
  /** `/api/v1/nodes`, `/apis/taintkeeper.dev/v1alpha1/taintpolicies`, `/api/v1/namespaces/x/secrets`. */
  readonly path: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  /** How many objects are asked for at a time. */
  readonly pageSize?: number;
  /**
   * What is kept of an object, which must not hold on to the object itself. Parts of it may be kept, but a part of a long
   * string keeps the whole string. Items of a list have no `kind` and `apiVersion` where the type is built in. If it
   * throws, that is logged, and what was last read of the object stays; a new object is not there.
   */
  readonly project: (object: unknown) => T;
  /**
   * Called in order. An object replaced under its name (another uid) is `deleted`, then `added`. What it throws is logged
   * and changes nothing.
   */
  readonly onChange?: (change: Change<T>) => void;
  /** Called when a list is complete and when the connection's state changes. */
  readonly onState?: (state: WatchState) => void;
  readonly log: Logger;
  readonly timings?: Partial<WatchTimings>;
}
