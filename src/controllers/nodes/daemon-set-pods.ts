import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { ClusterDaemonSet } from '../../cluster/cluster-objects.ts';
import { viewDaemonPod } from '../../cluster/node-pods.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { watchResource } from '../../cluster/watch/watch-cache.ts';
import type { WatchCache } from '../../cluster/watch/watch-options.ts';
import type { DaemonPodOnNode } from '../../coverage/daemon-readiness.ts';
import type { Found } from '../../judge/startup/blocker.ts';
import { daemonSetName } from '../../judge/startup-step.ts';
import { formatSelector } from '../../kubernetes/selector-overlap.ts';
import type { PodObject } from '../../objects/pod-object.ts';
import type { ReadyDaemonSet } from '../../policy/ready-when.ts';
import type { Run } from '../controller.ts';
import type { DaemonSets } from '../sources.ts';

/** A pod of a DaemonSet, as far as it is kept. */
interface StartupPod extends DaemonPodOnNode {
  /** The node that it is bound to; '' for none. */
  readonly node: string;
}

interface WatchedDaemonSet {
  readonly uid: string;
  readonly pods: Pick<WatchCache<StartupPod>, 'get' | 'stop'>;
  /** The names of the pods on each node. */
  readonly onNode: ReadonlyMap<string, ReadonlySet<string>>;
  isSynced: boolean;
}

/** The pods of the DaemonSets that nodes wait for. */
export interface DaemonSetPods {
  /**
   * The pods of the DaemonSets on a node. Starts to watch them, until {@link retain} ends the watch. Unread until all of them have been listed.
   */
  on(node: string, awaited: readonly ReadyDaemonSet[]): Found<readonly DaemonPodOnNode[]>;
  /** Ends the watches of other DaemonSets, and of those that were deleted. */
  retain(named: readonly ReadyDaemonSet[]): void;
  stop(): Promise<void>;
}

/** One label of the metric for all watches. */
const RESOURCE = 'startup-daemonset-pods';

/**
 * Watches the pods of each DaemonSet on all nodes.
 * @param onChange called with the name of a node whose pods have changed; undefined for all nodes
 */
export function watchDaemonSetPods(
  { metrics, log, signal }: Run,
  client: ApiClient,
  daemonSets: Pick<DaemonSets, 'get'>,
  onChange: (node?: string) => void,
): DaemonSetPods {
  const watched = new Map<string, WatchedDaemonSet>();
  /** The names of DaemonSets whose watches have no connection. */
  const disconnected = new Set<string>();
  const ending = new Set<Promise<void>>();
  signal.addEventListener('abort', endAll, { once: true });

  return {
    on(node, awaited) {
      const found: DaemonPodOnNode[] = [];
      let isSynced = true;
      for (const one of awaited) {
        const daemonSet = daemonSets.get(one.name, one.namespace);
        if (!daemonSet) continue;
        const { pods, onNode, isSynced: isListed } = watchOf(daemonSet);
        isSynced &&= isListed;
        for (const name of onNode.get(node) ?? []) {
          const pod = pods.get(name, one.namespace);
          if (pod) found.push(pod.value);
        }
      }
      return isSynced ? { value: found } : 'Unread';
    },
    retain(named) {
      const names = new Set(named.map(daemonSetName));
      for (const [name, { uid }] of watched) {
        const [namespace = '', ofDaemonSet = ''] = name.split('/');
        if (!names.has(name) || daemonSets.get(ofDaemonSet, namespace)?.uid !== uid) end(name);
      }
    },
    async stop() {
      endAll();
      await Promise.all(ending);
    },
  };

  function watchOf(daemonSet: Entry<ClusterDaemonSet>): WatchedDaemonSet {
    const name = daemonSetName(daemonSet);
    const known = watched.get(name);
    if (known?.uid === daemonSet.uid) return known;
    end(name);
    const begun = begin(name, daemonSet);
    watched.set(name, begun);
    return begun;
  }

  function begin(name: string, { uid, namespace, value: { podSelector } }: Entry<ClusterDaemonSet>): WatchedDaemonSet {
    const onNode = new Map<string, Set<string>>();
    const pods = watchResource<StartupPod>({
      client,
      path: `/api/v1/namespaces/${namespace}/pods`,
      labelSelector: formatSelector(podSelector),
      project: viewStartupPod,
      onChange(change) {
        const { entry } = change;
        const { node } = entry.value;
        if (change.type === 'modified' && change.previous.value === entry.value) return;
        const before = change.type === 'modified' ? change.previous.value.node : node;
        if (change.type === 'deleted' || before !== node) remove(onNode, before, entry.name);
        if (change.type !== 'deleted' && node) onNode.set(node, (onNode.get(node) ?? new Set()).add(entry.name));
        if (node) onChange(node);
      },
      onState({ connected }) {
        if (watched.get(name) !== begun) return;
        if (connected) disconnected.delete(name);
        else disconnected.add(name);
        metrics.watchState(RESOURCE, disconnected.size === 0);
      },
      log,
    });
    const begun: WatchedDaemonSet = { uid, pods, onNode, isSynced: false };
    pods.synced.then(
      () => {
        begun.isSynced = true;
        onChange();
      },
      // The watch ended before it was synced.
      () => {},
    );
    return begun;
  }

  function end(name: string): void {
    const found = watched.get(name);
    if (!found) return;
    watched.delete(name);
    disconnected.delete(name);
    const ended: Promise<void> = found.pods.stop().finally(() => ending.delete(ended));
    ending.add(ended);
    if (watched.size === 0) metrics.watchEnded(RESOURCE);
    else metrics.watchState(RESOURCE, disconnected.size === 0);
  }

  function endAll(): void {
    for (const name of [...watched.keys()]) end(name);
  }
}

function viewStartupPod(object: unknown): StartupPod {
  const { spec } = object as PodObject;
  return { ...viewDaemonPod(object), node: spec?.nodeName ?? '' };
}

function remove(onNode: Map<string, Set<string>>, node: string, name: string): void {
  const names = onNode.get(node);
  names?.delete(name);
  if (names?.size === 0) onNode.delete(node);
}
