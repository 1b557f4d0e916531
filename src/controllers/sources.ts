import { type ClusterDaemonSet, type ClusterNode, keepDaemonSet, keepNode } from '../cluster/cluster-objects.ts';
import type { Change } from '../cluster/watch/cached-objects.ts';
import { type WatchCache, type WatchOptions, watchResource } from '../cluster/watch/watch-cache.ts';
import type { Taint } from '../kubernetes/taint.ts';
import { orAborted } from '../runtime/pause.ts';
import { anyOf, createSubject, type Source } from '../runtime/source.ts';
import type { Controller, Run } from './controller.ts';

export type Nodes = Pick<WatchCache<ClusterNode>, 'get' | 'entries'>;
export type DaemonSets = Pick<WatchCache<ClusterDaemonSet>, 'get' | 'entries'>;

export interface WatchedNodes extends Nodes {
  readonly changes: Source<Change<ClusterNode>>;
  /** Emits when the kept part of a Node changes. Heartbeats, which are frequent with 5,000 nodes, do not change it. */
  readonly news: Source;
}

/** Also says of a node that cannot be read whether it exists. */
export interface ExistingNodes extends WatchedNodes, Pick<WatchCache<ClusterNode>, 'has'> {}

export interface WatchedDaemonSets extends DaemonSets {
  readonly changes: Source<Change<ClusterDaemonSet>>;
}

/** Watches of the nodes and DaemonSets of the cluster. */
export interface ClusterSources {
  readonly nodes: ExistingNodes;
  readonly daemonSets: WatchedDaemonSets;
  /** Resolves when all nodes and DaemonSets are known. Rejects if the watches are stopped before. */
  readonly synced: Promise<unknown>;
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
  const synced = orAborted(Promise.all([nodes.synced, daemonSets.synced]), signal);
  // Callers that await it handle the rejection themselves.
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
    // At once: a list that fails after the lease was lost is not a failure of the API server.
    signal.addEventListener('abort', () => void cache.stop(), { once: true });
    return {
      synced: cache.synced,
      get: cache.get,
      has: cache.has,
      entries: cache.entries,
      changes,
      async end() {
        await cache.stop();
        metrics.watchEnded(resource);
      },
    };
  }
}

/** The cluster state, which only the leader has. */
export interface ClusterState {
  /** Whether all of it has been read. */
  isSynced(): boolean;
  /** A number that changes with the cluster state and with the policies. */
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
  /** Emits when the answers of the controllers about nodes may have changed. */
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

/** Whether the kept part of an object has changed. */
export function isNews<T>(change: Change<T>): boolean {
  return change.type !== 'modified' || change.entry.value !== change.previous.value;
}
