import type { ApiClient } from '../../../cluster/client/api-client.ts';
import { type WatchCache, watchResource } from '../../../cluster/watch/watch-cache.ts';
import type { WatchOptions } from '../../../cluster/watch/watch-options.ts';
import type { Found } from '../../../judge/startup/blocker.ts';
import type { Run } from '../../controller.ts';

export interface GroupedWatch<T> {
  readonly objects: Pick<WatchCache<T>, 'get' | 'entries' | 'isSynced' | 'isRefused' | 'size'>;
}

/** What is read of watched objects, or why it cannot be read. */
export function foundIn<T>(objects: Pick<WatchCache<unknown>, 'isSynced' | 'isRefused'>, read: () => T): Found<T> {
  if (objects.isSynced()) return { value: read() };
  return objects.isRefused() ? 'NotPermitted' : 'Unread';
}

export interface GroupedWatchOptions<T>
  extends Pick<
    WatchOptions<T>,
    'path' | 'fieldSelector' | 'labelSelector' | 'isStreamed' | 'fromNow' | 'onListed' | 'project'
  > {
  /** Called for each object of the first list, too. */
  readonly onChange: NonNullable<WatchOptions<T>['onChange']>;
  /** The first list is complete. Not called once the watch was ended. */
  readonly onSynced: () => void;
  /** When the watch is refused, or no longer, before that. Not called once the watch was ended. */
  readonly onRefusal?: () => void;
}

/** Watches that begin and end one by one, each with a key. The metric has one label for all of them: it is connected if each of them is. */
export interface WatchGroup<T> {
  get(key: string): GroupedWatch<T> | undefined;
  /** The key must have no watch. */
  begin(key: string, options: GroupedWatchOptions<T>): GroupedWatch<T>;
  /** Does nothing if there is none. */
  end(key: string): void;
  readonly size: number;
  /** Ends all. No callback is called once this has resolved. */
  stop(): Promise<void>;
}

interface Begun<T> {
  readonly objects: WatchCache<T>;
  isDisconnected: boolean;
}

/** @param resource the label of the metric */
export function watchGroup<T>({ metrics, log, signal }: Run, client: ApiClient, resource: string): WatchGroup<T> {
  const watched = new Map<string, Begun<T>>();
  const ending = new Set<Promise<void>>();
  signal.addEventListener('abort', endAll, { once: true });

  return {
    get: (key) => watched.get(key),
    begin(key, { onSynced, onRefusal, ...options }) {
      const isWatched = () => watched.get(key) === begun;
      const objects = watchResource<T>({
        ...options,
        client,
        log,
        onState(state) {
          if (!isWatched()) return;
          begun.isDisconnected = !state.connected;
          reportState();
        },
        onRefusal() {
          if (isWatched()) onRefusal?.();
        },
      });
      const begun: Begun<T> = { objects, isDisconnected: false };
      watched.set(key, begun);
      objects.synced.then(
        () => {
          if (isWatched()) onSynced();
        },
        // The watch ended before it was synced.
        () => {},
      );
      return begun;
    },
    end,
    get size() {
      return watched.size;
    },
    async stop() {
      endAll();
      await Promise.all(ending);
    },
  };

  function end(key: string): void {
    const found = watched.get(key);
    if (!found) return;
    watched.delete(key);
    const ended: Promise<void> = found.objects.stop().finally(() => ending.delete(ended));
    ending.add(ended);
    if (watched.size === 0) metrics.watchEnded(resource);
    else reportState();
  }

  function endAll(): void {
    for (const key of [...watched.keys()]) end(key);
  }

  function reportState(): void {
    metrics.watchState(
      resource,
      [...watched.values()].every(({ isDisconnected }) => !isDisconnected),
    );
  }
}
