import { type ClusterDaemonSet, type ClusterNode, keepDaemonSet, keepNode } from '../cluster/cluster-objects.ts';
import type { Change } from '../cluster/watch/cached-objects.ts';
import { watchResource } from '../cluster/watch/watch-cache.ts';
import type { WatchCache, WatchOptions } from '../cluster/watch/watch-options.ts';
import type { Taint } from '../kubernetes/taint.ts';
import { orAborted } from '../runtime/pause.ts';
import { anyOf, createSubject, type Source } from '../runtime/source.ts';
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

/** What the leader knows of the cluster, and others do not. */
export interface ClusterState {
  /** Whether all of it has been read. */
  isSynced(): boolean;
  /** Another number whenever something of it, or of the policies, has changed. */
  revision(): number;
  nodes(): ClusterNode[];
  daemonSets(): ClusterDaemonSet[];
  /** Whether another writer removes the taint from the node repeatedly. */
  isInConflict(node: string, taint: Taint): boolean;
  /** The pods that landed on the node while a taint was missing, in words. */
  misplacedPodsOn(node: string): string | undefined;
  /** What the startup taints of the node wait for, in words. */
  startupOn(node: string): string | undefined;
}

interface ClusterStateOptions
  extends ClusterSources,
    Pick<ClusterState, 'isInConflict' | 'misplacedPodsOn' | 'startupOn'> {
  readonly policies: { readonly changes: Source };
  /** Emits when what controllers know of nodes may have changed. */
  readonly changes: Source;
  readonly signal: AbortSignal;
}

export function clusterStateOf(options: ClusterStateOptions): ClusterState {
  const { nodes, daemonSets, synced, policies, changes, signal } = options;
  let isSynced = false;
  synced.then(
    () => {
      isSynced = true;
    },
    () => {},
  );
  let revision = 0;
  anyOf(nodes.news, policies.changes, changes).subscribe(() => revision++, signal);
  daemonSets.changes.subscribe(() => revision++, signal);
  return {
    isSynced: () => isSynced,
    revision: () => revision,
    nodes: () => Array.from(nodes.entries(), ({ value }) => value),
    daemonSets: () => Array.from(daemonSets.entries(), ({ value }) => value),
    isInConflict: options.isInConflict,
    misplacedPodsOn: options.misplacedPodsOn,
    startupOn: options.startupOn,
  };
}

/** Whether what is kept of an object has changed. */
export function isNews<T>(change: Change<T>): boolean {
  return change.type !== 'modified' || change.entry.value !== change.previous.value;
}
