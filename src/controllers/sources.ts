import { type ClusterDaemonSet, type ClusterNode, keepDaemonSet, keepNode } from '../cluster/cluster-objects.ts';
import type { Change } from '../cluster/watch/cached-objects.ts';
import { watchResource } from '../cluster/watch/watch-cache.ts';
import type { WatchCache, WatchOptions } from '../cluster/watch/watch-options.ts';
import { orAborted } from '../runtime/pause.ts';
import { createSubject, type Source } from '../runtime/source.ts';
import type { Controller, Run } from './controller.ts';

export type Nodes = Pick<WatchCache<ClusterNode>, 'get' | 'entries'>;
export type DaemonSets = Pick<WatchCache<ClusterDaemonSet>, 'get' | 'entries'>;

export interface WatchedNodes extends Nodes {
  readonly changes: Source<Change<ClusterNode>>;
  /** Tells of those changes alone that are of what is kept: heartbeats of 5,000 nodes come in all the time, and are none. */
  readonly news: Source;
}

export interface WatchedDaemonSets extends DaemonSets {
  readonly changes: Source<Change<ClusterDaemonSet>>;
}

/** The nodes and DaemonSets of the cluster, watched. */
export interface ClusterSources {
  readonly nodes: WatchedNodes;
  readonly daemonSets: WatchedDaemonSets;
  /** Resolves when all of both are known; rejects once the watches are told to end before. */
  readonly synced: Promise<unknown>;
}

/** A Node is 30-60 KB, of which little is kept: what is read of a page at once is most of what a leader needs of memory. */
const NODES_PER_PAGE = 25;

/** The watches end with the run. */
export function watchCluster(
  { signal, metrics, log }: Run,
  client: WatchOptions<unknown>['client'],
): ClusterSources & Controller {
  const nodes = watch('nodes', { path: '/api/v1/nodes', pageSize: NODES_PER_PAGE, project: keepNode });
  const daemonSets = watch('daemonsets', { path: '/apis/apps/v1/daemonsets', project: keepDaemonSet });
  const news = createSubject();
  nodes.changes.subscribe((change) => isNews(change) && news.next());
  const synced = orAborted(Promise.all([nodes.synced, daemonSets.synced]), signal);
  // Whoever waits for it has a reference of their own.
  synced.catch(() => {});
  return {
    nodes: { ...nodes, news },
    daemonSets,
    synced,
    stop: async () => void (await Promise.all([nodes.end(), daemonSets.end()])),
  };

  function watch<T>(resource: string, what: Pick<WatchOptions<T>, 'path' | 'pageSize' | 'project'>) {
    const changes = createSubject<Change<T>>();
    const cache = watchResource<T>({
      ...what,
      client,
      onChange: changes.next,
      onState: ({ connected }) => metrics.watchState(resource, connected),
      log,
    });
    // At once: a list that ends with the lease is no fault of the API server.
    signal.addEventListener('abort', () => void cache.stop(), { once: true });
    return {
      synced: cache.synced,
      get: cache.get,
      entries: cache.entries,
      changes,
      async end() {
        await cache.stop();
        metrics.watchEnded(resource);
      },
    };
  }
}

/** Whether what is kept of an object has changed. */
export function isNews<T>(change: Change<T>): boolean {
  return change.type !== 'modified' || change.entry.value !== change.previous.value;
}
