import type { Logger } from 'pino';
import type { ApiClient } from '../client/api-client.ts';
import type { Change, Entry, ObjectName } from './cached-objects.ts';

/** The timings of a watch, in milliseconds. */
export interface WatchTimings {
  /** The requested duration of each watch, shortened at random by up to a fifth. Whole seconds. */
  readonly watchMs: number;
  /** A watch that the API server has not ended this long after its requested end is dead. */
  readonly graceMs: number;
  /** A list that is the beginning of a watch is given up if it is not complete this long after the API server accepted it. */
  readonly streamedListMs: number;
  /** The shortest and the longest pause between failed attempts. */
  readonly backOffMinMs: number;
  readonly backOffMaxMs: number;
  /** Everything is listed again after this long, shortened at random by up to a fifth. */
  readonly relistMs: number;
}

/**
 * A half-open connection is noticed at most 35 s after its watch began, because no watch lasts longer than 30 s (a list on it, also one that
 * begins a watch: after 20 s). The cache is current again within 45 s, and after an outage of the API server within 10 s of its recovery plus the time
 * of the lists.
 */
export const WATCH_TIMINGS: WatchTimings = {
  watchMs: 30_000,
  graceMs: 5_000,
  streamedListMs: 10_000,
  backOffMinMs: 100,
  backOffMaxMs: 10_000,
  relistMs: 3_600_000,
};

/** The time, shortened at random by up to a fifth, so that replicas that started together do not stay in step. */
export function jittered(ms: number): number {
  return ms * (0.8 + Math.random() / 5);
}

export type WatchState =
  | { readonly connected: true }
  | {
      readonly connected: false;
      readonly error: string;
      /** The answer was a 404 for the path: the kind may have no definition. */
      readonly isNotServed: boolean;
      /** The answer was a 403: the right is missing. */
      readonly isForbidden: boolean;
    };

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

export interface WatchOptions<T> {
  readonly client: ApiClient;
  /** `/api/v1/nodes`, `/apis/taintkeeper.dev/v1alpha1/taintpolicies`, `/api/v1/namespaces/x/secrets`. */
  readonly path: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  /** The largest number of objects in a page of a list. */
  readonly pageSize?: number;
  /**
   * Whether the list and the watch are one request, if the API server can (`sendInitialEvents`, KEP-3157: Kubernetes 1.34 or newer). For few objects: the
   * API server sends them without pauses.
   */
  readonly isStreamed?: boolean;
  /** Whether the objects that exist at first are left out: only what changes from then on is known. It begins anew where others list again. */
  readonly fromNow?: boolean;
  /**
   * The kept part of an object, which must not refer to the object itself. Parts of the object may be kept, but a part of a long string keeps the
   * whole string. Items of a list have no `kind` and `apiVersion` for built-in types. If it throws, the error is logged, and the last valid version
   * of the object stays. A new invalid object is not added.
   */
  readonly project: (object: unknown) => T;
  /**
   * For objects of a CustomResourceDefinition: whether the object of an event has another spec than the known one. Such an event is not taken. Everything
   * is listed instead, and also after the API server ended a watch early. A watch that began before the definition got a field leaves the field out, and
   * the API server ends the watch about a second after the change (tearDown of k8s.io/apiextensions-apiserver: pkg/apiserver/customresource_handler.go).
   */
  readonly hasNewSpec?: (object: unknown, known: Entry<T> | undefined) => boolean;
  /**
   * Called in order. An object that is replaced under its name (another uid) is `deleted`, then `added`. Its errors are logged, and have no effect.
   */
  readonly onChange?: (change: Change<T>) => void;
  /** Called when {@link WatchCache.isUnreadable} of an object has changed. Its errors are logged, and have no effect. */
  readonly onUnreadableChange?: (object: ObjectName) => void;
  /** Called when a list is complete, before {@link onState}. With {@link fromNow}: what changes from this moment on will be known, and nothing else is. */
  readonly onListed?: () => void;
  /** Called when a list is complete and when the connection's state changes. */
  readonly onState?: (state: WatchState) => void;
  /** Called when {@link WatchCache.isRefused} changes before the first list is complete. */
  readonly onRefusal?: () => void;
  readonly log: Logger;
  readonly timings?: Partial<WatchTimings>;
}
