import {
  type ClusterDaemonSet,
  type ClusterNode,
  keepDaemonSet,
  keepNode,
} from '../cluster/objects/cluster-objects.ts';
import { type Change, isNews, type ObjectName } from '../cluster/watch/cached-objects.ts';
import { type WatchCache, watchResource } from '../cluster/watch/watch-cache.ts';
import type { WatchOptions } from '../cluster/watch/watch-options.ts';
import { orAborted } from '../runtime/abort.ts';
import { createSubject, type Source } from '../runtime/source.ts';
import type { Controller, Run } from './controller.ts';
import { createOutage } from './outage.ts';

export type Nodes = Pick<WatchCache<ClusterNode>, 'get' | 'entries'>;
export type DaemonSets = Pick<WatchCache<ClusterDaemonSet>, 'get' | 'entries'>;

export interface WatchedNodes extends Nodes {
  readonly changes: Source<Change<ClusterNode>>;
  /** Emits when the kept part of a Node changes. Heartbeats, which are frequent with 5,000 nodes, do not change it. */
  readonly news: Source;
}

/** Also says of a node that cannot be read whether it exists. */
export interface ExistingNodes extends WatchedNodes, Pick<WatchCache<ClusterNode>, 'has'> {}

export interface WatchedDaemonSets
  extends DaemonSets,
    Pick<WatchCache<ClusterDaemonSet>, 'isUnreadable' | 'unreadable'> {
  readonly changes: Source<Change<ClusterDaemonSet>>;
  /** Emits the DaemonSet of which `isUnreadable` has changed. */
  readonly unreadableChanges: Source<ObjectName>;
}

/** How much of a kind has been read. Each controller waits only for what it reads: the right to list the other kind may be missing. */
export interface SyncState {
  /** Resolves when all objects are known. Rejects if the watch is stopped before. */
  readonly synced: Promise<unknown>;
  isSynced(): boolean;
  /** Whether the right to list or watch it is missing, by the last attempt. */
  isRefused(): boolean;
  /** Why not all objects are known, if lists have failed for half a minute. */
  listFault(): string | undefined;
  /** Emits when {@link isRefused} changes before all objects are known. */
  readonly refusals: Source;
  /** Resolves after the first list, complete or not. */
  readonly tried: Promise<void>;
}

/** Watches of the nodes and DaemonSets of the cluster. */
export interface ClusterSources {
  readonly nodes: ExistingNodes & SyncState;
  readonly daemonSets: WatchedDaemonSets & SyncState;
}

/** A Node has 30-60 KB, of which little is kept. Most of the memory of a leader is needed for reading a page. */
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
  return {
    nodes: { ...nodes, news },
    daemonSets,
    stop: async () => void (await Promise.all([nodes.end(), daemonSets.end()])),
  };

  function watch<T>(resource: string, what: Pick<WatchOptions<T>, 'path' | 'pageSize' | 'project'>) {
    const changes = createSubject<Change<T>>();
    const tried = Promise.withResolvers<void>();
    const unreadableChanges = createSubject<ObjectName>();
    const refusals = createSubject();
    const outage = createOutage();
    const cache = watchResource<T>({
      ...what,
      client,
      onChange: changes.next,
      onUnreadableChange: unreadableChanges.next,
      onState(state) {
        metrics.watchState(resource, state.connected);
        outage.observe(state);
        tried.resolve();
      },
      onRefusal: refusals.next,
      log,
    });
    // At once: a list that fails after the lease was lost is not a failure of the API server.
    signal.addEventListener('abort', () => void cache.stop(), { once: true });
    return {
      synced: handled(orAborted(cache.synced, signal)),
      isSynced: cache.isSynced,
      isRefused: cache.isRefused,
      listFault: () => (cache.isSynced() ? undefined : outage.error()),
      refusals,
      tried: tried.promise,
      get: cache.get,
      has: cache.has,
      isUnreadable: cache.isUnreadable,
      unreadable: cache.unreadable,
      entries: cache.entries,
      changes,
      unreadableChanges,
      async end() {
        await cache.stop();
        metrics.watchEnded(resource);
      },
    };
  }
}

/** A promise whose callers handle its rejection themselves, if there are any. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
