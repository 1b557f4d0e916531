import type { Logger } from 'pino';
import type { ApiClient } from '../client/api-client.ts';
import type { Change, Entry, ObjectName } from './cached-objects.ts';
import type { WatchTimings } from './watch-timings.ts';

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
  /** Called when `isUnreadable` of an object has changed. Its errors are logged, and have no effect. */
  readonly onUnreadableChange?: (object: ObjectName) => void;
  /** Called when a list is complete, before {@link onState}. With {@link fromNow}: what changes from this moment on will be known, and nothing else is. */
  readonly onListed?: () => void;
  /** Called when a list is complete and when the connection's state changes. */
  readonly onState?: (state: WatchState) => void;
  /** Called when `isRefused` changes before the first list is complete. */
  readonly onRefusal?: () => void;
  readonly log: Logger;
  readonly timings?: Partial<WatchTimings>;
}
