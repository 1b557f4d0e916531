import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { watchResource } from '../../cluster/watch/watch-cache.ts';
import type { WatchCache, WatchState } from '../../cluster/watch/watch-options.ts';
import type { Found } from '../../judge/startup/blocker.ts';
import { isDnsSubdomain } from '../../kubernetes/label-selector.ts';
import type { Run } from '../controller.ts';

/**
 * The most nodes that have a watch of their own: each is a connection. A node waits for a minute or so, and a cluster rarely gets more new nodes at
 * once.
 */
export const MAX_NODE_WATCHES = 128;

export interface NodeWatchesOptions<T> {
  readonly client: ApiClient;
  /** The label of the metrics for all watches. */
  readonly resource: string;
  readonly path: string;
  /** Selects the objects of a node. */
  readonly fieldSelector: (node: string) => string;
  readonly project: (object: unknown) => T;
  /** Called with the name of a node whose objects have changed, or have been read. */
  readonly onChange: (node: string) => void;
}

/** Watches of the objects of single nodes: what they cost depends on the nodes that wait, and not on the size of the cluster. */
export interface NodeWatches<T> {
  /** The objects of the node. Starts to watch them, until {@link end}. Undefined if too many nodes are watched. */
  on(node: string): Found<readonly T[]> | undefined;
  end(node: string): void;
  readonly size: number;
  stop(): Promise<void>;
}

interface WatchedNode<T> {
  readonly objects: Pick<WatchCache<T>, 'entries' | 'isSynced' | 'stop'>;
  state: WatchState | undefined;
}

export function watchNodes<T>({ metrics, log, signal }: Run, options: NodeWatchesOptions<T>): NodeWatches<T> {
  const { client, resource, path, fieldSelector, project, onChange } = options;
  const watched = new Map<string, WatchedNode<T>>();
  const ending = new Set<Promise<void>>();
  signal.addEventListener('abort', endAll, { once: true });

  return {
    on(node) {
      const known = watched.get(node) ?? (watched.size < MAX_NODE_WATCHES ? begin(node) : undefined);
      if (known === undefined) return undefined;
      if (known.objects.isSynced())
        return { value: Array.from(known.objects.entries(), ({ value }: Entry<T>) => value) };
      return isRefused(known.state) ? 'Refused' : 'Unread';
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

  function begin(node: string): WatchedNode<T> {
    // A comma or an equals sign would change the selector.
    if (!isDnsSubdomain(node))
      throw new Error(`not watching objects of ${JSON.stringify(node)}: it is no name of a node`);
    const objects = watchResource<T>({
      client,
      path,
      fieldSelector: fieldSelector(node),
      project,
      onChange(change) {
        const isSame = change.type === 'modified' && change.previous.value === change.entry.value;
        // The first list is one change.
        if (!isSame && objects.isSynced()) onChange(node);
      },
      onState(state) {
        if (watched.get(node) !== begun) return;
        const wasRefused = isRefused(begun.state);
        begun.state = state;
        if (wasRefused !== isRefused(state) && !objects.isSynced()) onChange(node);
        reportState();
      },
      log,
    });
    const begun: WatchedNode<T> = { objects, state: undefined };
    watched.set(node, begun);
    objects.synced.then(
      () => {
        if (watched.get(node) === begun) onChange(node);
      },
      // The watch ended before it was synced.
      () => {},
    );
    return begun;
  }

  function end(node: string): void {
    const found = watched.get(node);
    if (!found) return;
    watched.delete(node);
    const ended: Promise<void> = found.objects.stop().finally(() => ending.delete(ended));
    ending.add(ended);
    if (watched.size === 0) metrics.watchEnded(resource);
    else reportState();
  }

  function endAll(): void {
    for (const node of [...watched.keys()]) end(node);
  }

  function reportState(): void {
    metrics.watchState(
      resource,
      [...watched.values()].every(({ state }) => state?.connected !== false),
    );
  }
}

function isRefused(state: WatchState | undefined): boolean {
  return state?.connected === false && state.isForbidden;
}
