import type { Change } from '../cluster/watch/cached-objects.ts';
import { type WatchCache, type WatchOptions, watchResource } from '../cluster/watch/watch-cache.ts';
import { compileCoverage, type SchedulingView } from '../coverage/coverage.ts';
import type { Rollout } from '../evictions/recovery.ts';
import type { DaemonSetView } from '../judge/daemon-set.ts';
import type { NodeView } from '../judge/node-view.ts';
import type { LabelSelector } from '../kubernetes/label-selector.ts';
import type { Machine } from '../kubernetes/machine.ts';
import type { Taint } from '../kubernetes/taint.ts';
import { asDaemonSet, viewDaemonSet } from '../objects/daemon-set-object.ts';
import { announcedAt, asNode, machineOf, taintedSince, viewNode } from '../objects/node-object.ts';
import { machineClusterOf } from '../objects/node-pool-object.ts';
import { viewScheduling } from '../objects/workload-object.ts';
import { orAborted } from '../runtime/pause.ts';
import { anyOf, createSubject, type Source } from '../runtime/source.ts';
import type { Controller, Run } from './controller.ts';
import { limitDaemonSet, limitNode } from './kept-limits.ts';

/** What the controllers keep of a Node: the rest is 40 KB. */
export interface ClusterNode extends NodeView {
  /** Its condition Ready is True, and it is not being deleted. */
  readonly ready: boolean;
  /** When its allow-removal annotation was last written, in milliseconds, where there is one and that is known. */
  readonly announcedAt?: number;
  /** Since when it has had its taints though it is Ready, in milliseconds since the epoch. */
  readonly taintedSince?: number;
  /** NAMESPACE/NAME of the Cluster of Cluster API whose node it is, if it says so. */
  readonly machineCluster?: string;
  /** Absent where nothing is known of it. */
  readonly machine?: Machine;
  /** When the Node was created, in milliseconds since the epoch. Absent where that is not known. */
  readonly createdAt?: number;
}

/** What the controllers keep of a DaemonSet. The numbers of its status are 0 where it has none yet. */
export interface ClusterDaemonSet extends DaemonSetView, SchedulingView, Rollout {
  /** `spec.selector`: which pods are its own. It never changes. */
  readonly podSelector: LabelSelector;
}

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

/** The nodes that are not Ready, by name: what is to happen there may never happen. */
export function unreadyNodes(nodes: Nodes): Map<string, ClusterNode> {
  const unready = new Map<string, ClusterNode>();
  for (const { value } of nodes.entries()) if (!value.ready) unready.set(value.name, value);
  return unready;
}

/** How many of the nodes the DaemonSet runs on. */
export function countCovered(daemonSet: SchedulingView, nodes: Iterable<ClusterNode>): number {
  const coverageOn = compileCoverage(daemonSet);
  let count = 0;
  for (const node of nodes) if (coverageOn(node).runs) count++;
  return count;
}

/** Whether what is kept of an object has changed. */
export function isNews<T>(change: Change<T>): boolean {
  return change.type !== 'modified' || change.entry.value !== change.previous.value;
}

/**
 * {@link projectNode}, limited: see {@link limitNode}. Commands, which read each object once, have no such limits.
 * @throws MalformedObjectError
 */
export function keepNode(object: unknown): ClusterNode {
  return limitNode(projectNode(object));
}

/**
 * {@link projectDaemonSet}, limited: see {@link limitDaemonSet}.
 * @throws MalformedObjectError
 */
export function keepDaemonSet(object: unknown): ClusterDaemonSet {
  return limitDaemonSet(projectDaemonSet(object));
}

/** @throws MalformedObjectError */
export function projectNode(object: unknown): ClusterNode {
  const { metadata, status } = object as {
    metadata: { deletionTimestamp?: string; creationTimestamp?: string };
    status?: { conditions?: readonly { type: string; status: string }[] };
  };
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
  const node = asNode(object, []);
  const machineCluster = machineClusterOf(node);
  const announced = announcedAt(node);
  const since = taintedSince(node);
  const createdAt = Date.parse(metadata.creationTimestamp ?? '');
  return {
    ...viewNode(node, ''),
    machine: machineOf(node),
    ready: ready && metadata.deletionTimestamp === undefined,
    ...(machineCluster === undefined ? {} : { machineCluster }),
    ...(announced === undefined ? {} : { announcedAt: announced }),
    ...(since === undefined ? {} : { taintedSince: since }),
    ...(Number.isNaN(createdAt) ? {} : { createdAt }),
  };
}

/** @throws MalformedObjectError */
export function projectDaemonSet(object: unknown): ClusterDaemonSet {
  const daemonSet = object as {
    metadata: { namespace?: string; generation?: number };
    spec: { selector: LabelSelector; updateStrategy?: { type?: string } };
    status?: {
      observedGeneration?: number;
      desiredNumberScheduled?: number;
      updatedNumberScheduled?: number;
      numberUnavailable?: number;
    };
  };
  const { metadata, spec, status = {} } = daemonSet;
  return {
    ...viewScheduling(object, [], ''),
    ...viewDaemonSet(asDaemonSet(object, []), metadata.namespace ?? '', ''),
    generation: metadata.generation ?? 0,
    podSelector: spec.selector,
    onDelete: spec.updateStrategy?.type === 'OnDelete',
    status: {
      observedGeneration: status.observedGeneration ?? 0,
      desired: status.desiredNumberScheduled ?? 0,
      updated: status.updatedNumberScheduled ?? 0,
      unavailable: status.numberUnavailable ?? 0,
    },
  };
}
