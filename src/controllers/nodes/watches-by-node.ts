import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { Found } from '../../judge/startup/blocker.ts';
import { isDnsSubdomain } from '../../kubernetes/names.ts';
import { isNews } from '../cluster-watches.ts';
import type { Run } from '../controller.ts';
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
  /** Called when no node shares a watch any more. */
  readonly endShared: () => void;
}

/** Watches of the objects of single nodes: what they cost depends on the nodes that wait, and not on the size of the cluster. */
export interface WatchesByNode<T> {
  /** The objects of the node. Starts to watch them, until {@link end}. Undefined if too many nodes are watched, or if the node shares a watch. */
  on(node: string): Found<readonly T[]> | undefined;
  /** The node shares a watch, until {@link end}. */
  share(node: string): void;
  /** Whether the node has a watch of its own. */
  has(node: string): boolean;
  /** How many more nodes can have watches of their own. */
  free(): number;
  /** The nodes whose objects have been read for so many milliseconds by watches of their own, the oldest watch first. */
  readFor(ms: number): string[];
  end(node: string): void;
  /** The nodes that share a watch. */
  readonly sharing: ReadonlySet<string>;
  stop(): Promise<void>;
}

export function watchByNode<T>(run: Run, options: WatchesByNodeOptions<T>): WatchesByNode<T> {
  const { client, resource, path, fieldSelector, project, onChange, endShared } = options;
  const group = watchGroup<T>(run, client, resource);
  const sharing = new Set<string>();
  /** Since when the objects of nodes are known by watches of their own, in the order of time, by performance.now(). */
  const readSince = new Map<string, number>();

  return {
    on(node) {
      const watch = sharing.has(node) ? undefined : watchOf(node);
      if (watch === undefined) return undefined;
      const { objects } = watch;
      return foundIn(objects, () => Array.from(objects.entries(), ({ value }) => value));
    },
    share: (node) => void sharing.add(node),
    has: (node) => group.get(node) !== undefined,
    free,
    readFor(ms) {
      const latest = performance.now() - ms;
      return [...readSince].filter(([, since]) => since <= latest).map(([node]) => node);
    },
    end(node) {
      group.end(node);
      readSince.delete(node);
      if (sharing.delete(node) && sharing.size === 0) endShared();
    },
    sharing,
    stop: group.stop,
  };

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
        readSince.set(node, performance.now());
        onChange(node);
      },
    });
    return watch;
  }
}
