import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { ClusterDaemonSet } from '../../cluster/cluster-objects.ts';
import { viewDaemonPod } from '../../cluster/node-pods.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import type { DaemonPodOnNode } from '../../coverage/daemon-readiness.ts';
import type { Found } from '../../judge/startup/blocker.ts';
import { formatSelector } from '../../kubernetes/selector-overlap.ts';
import type { PodObject } from '../../objects/pod-object.ts';
import type { ReadyDaemonSet } from '../../policy/ready-when.ts';
import type { Run } from '../controller.ts';
import { type DaemonSets, isNews } from '../sources.ts';
import { type GroupedWatch, watchGroup } from './watch-group.ts';

/** A pod of a DaemonSet, as far as it is kept. */
interface StartupPod extends DaemonPodOnNode {
  /** The node that it is bound to; '' for none. */
  readonly node: string;
}

/** The pods of the DaemonSets that nodes wait for. */
export interface DaemonSetPods {
  /**
   * The pods of the DaemonSets on a node. Starts to watch them, until {@link retain} ends the watch. Unread until all of them have been listed.
   */
  on(node: string, awaited: readonly ReadyDaemonSet[]): Found<readonly DaemonPodOnNode[]>;
  /** Ends the watches of other DaemonSets. Asks for the awaited ones only if there is a watch. */
  retain(awaited: () => Iterable<{ readonly uid: string }>): void;
  stop(): Promise<void>;
}

/** One label of the metric for all watches. */
const RESOURCE = 'startup-daemonset-pods';

/**
 * Watches the pods of each DaemonSet on all nodes.
 * @param onChange called with the name of a node whose pods have changed; undefined for all nodes
 */
export function watchDaemonSetPods(
  run: Run,
  client: ApiClient,
  daemonSets: Pick<DaemonSets, 'get'>,
  onChange: (node?: string) => void,
): DaemonSetPods {
  /** By the uid of the DaemonSet. */
  const group = watchGroup<StartupPod>(run, client, RESOURCE);
  /** The names of the pods on each node, by the same. */
  const onNodes = new Map<string, Map<string, Set<string>>>();

  return {
    on(node, awaited) {
      const found: DaemonPodOnNode[] = [];
      let isSynced = true;
      for (const one of awaited) {
        const daemonSet = daemonSets.get(one.name, one.namespace);
        if (!daemonSet) continue;
        const { objects } = group.get(daemonSet.uid) ?? begin(daemonSet);
        isSynced &&= objects.isSynced();
        for (const name of onNodes.get(daemonSet.uid)?.get(node) ?? []) {
          const pod = objects.get(name, one.namespace);
          if (pod) found.push(pod.value);
        }
      }
      return isSynced ? { value: found } : 'Unread';
    },
    retain(listAwaited) {
      if (group.size === 0) return;
      const uids = new Set(Array.from(listAwaited(), ({ uid }) => uid));
      for (const uid of group.keys()) {
        if (uids.has(uid)) continue;
        group.end(uid);
        onNodes.delete(uid);
      }
    },
    stop: group.stop,
  };

  function begin({ uid, namespace, value: { podSelector } }: Entry<ClusterDaemonSet>): GroupedWatch<StartupPod> {
    const onNode = new Map<string, Set<string>>();
    onNodes.set(uid, onNode);
    const watch = group.begin(uid, {
      path: `/api/v1/namespaces/${namespace}/pods`,
      labelSelector: formatSelector(podSelector),
      project: viewStartupPod,
      onChange(change) {
        const { entry } = change;
        const { node } = entry.value;
        if (!isNews(change)) return;
        const before = change.type === 'modified' ? change.previous.value.node : node;
        if (change.type === 'deleted' || before !== node) remove(onNode, before, entry.name);
        if (change.type !== 'deleted' && node) onNode.set(node, (onNode.get(node) ?? new Set()).add(entry.name));
        // The first list is one change.
        if (node && watch.objects.isSynced()) onChange(node);
      },
      onSynced: () => onChange(),
    });
    return watch;
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
