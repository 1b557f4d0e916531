import type { ApiClient } from '../../../cluster/client/api-client.ts';
import { isNews } from '../../../cluster/watch/cached-objects.ts';
import type { Found } from '../../../judge/startup/blocker.ts';
import { isDnsSubdomain } from '../../../kubernetes/names.ts';
import type { Run } from '../../controller.ts';
import { foundIn, type GroupedWatch, watchGroup } from './watch-group.ts';

/**
 * The most nodes that have a watch of their own: each is a connection. A node waits for a minute or so, and a cluster rarely gets more new nodes at
 * once.
 */
export const MAX_SINGLE_WATCHES = 128;

export interface WatchesByNodeOptions<T> {
  readonly client: ApiClient;
  /** The label of the metrics for all watches. */
  readonly resource: string;
  readonly path: string;
  /** Selects the objects of a node. */
  readonly fieldSelector: (node: string) => string;
  readonly project: (object: unknown) => T;
  /** Called with the name of a node whose objects have changed, or have been read. */
  readonly onChange: (node: string) => void;
  /** Called before {@link onChange} when the objects of a node have been read by a watch of its own. */
  readonly onRead?: (node: string) => void;
  /** Called when no node shares a watch any more. */
  readonly endShared: () => void;
}

/** Watches of the objects of single nodes: what they cost depends on the nodes that wait, and not on the size of the cluster. */
export interface WatchesByNode<T> {
  /** The objects of the node. Starts to watch them, until {@link end}. Undefined if too many nodes are watched, or if the node shares a watch. */
  readOrWatch(node: string): Found<readonly T[]> | undefined;
  /** The node shares a watch, until {@link unshare} or {@link end}. */
  share(node: string): void;
  unshare(node: string): void;
  /** Whether the node has a watch of its own. */
  has(node: string): boolean;
  /** How many more nodes can have watches of their own. */
  free(): number;
  end(node: string): void;
  /** The nodes that share a watch. */
  readonly sharing: ReadonlySet<string>;
  stop(): Promise<void>;
}

export function watchByNode<T>(run: Run, options: WatchesByNodeOptions<T>): WatchesByNode<T> {
  const { client, resource, path, fieldSelector, project, onChange, onRead, endShared } = options;
  const group = watchGroup<T>(run, client, resource);
  const sharing = new Set<string>();

  return {
    readOrWatch(node) {
      const watch = sharing.has(node) ? undefined : watchOf(node);
      if (watch === undefined) return undefined;
      const { objects } = watch;
      return foundIn(objects, () => Array.from(objects.entries(), ({ value }) => value));
    },
    share: (node) => void sharing.add(node),
    has: (node) => group.get(node) !== undefined,
    free,
    unshare,
    end,
    sharing,
    stop: group.stop,
  };

  function end(node: string): void {
    group.end(node);
    unshare(node);
  }

  function unshare(node: string): void {
    if (sharing.delete(node) && sharing.size === 0) endShared();
  }

  function watchOf(node: string): GroupedWatch<T> | undefined {
    return group.get(node) ?? (free() > 0 ? begin(node) : undefined);
  }

  function free(): number {
    return MAX_SINGLE_WATCHES - group.size;
  }

  function begin(node: string): GroupedWatch<T> {
    // A comma or an equals sign would change the selector.
    if (!isDnsSubdomain(node))
      throw new Error(`not watching objects of ${JSON.stringify(node)}: it is no name of a node`);
    const watch = group.begin(node, {
      path,
      fieldSelector: fieldSelector(node),
      isStreamed: true,
      project,
      onChange(change) {
        // The first list is one change.
        if (isNews(change) && watch.objects.isSynced()) onChange(node);
      },
      onRefusal: () => onChange(node),
      onSynced() {
        onRead?.(node);
        onChange(node);
      },
    });
    return watch;
  }
}
