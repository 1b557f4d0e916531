import type { ApiClient } from '../../../cluster/client/api-client.ts';
import { namespacedPath } from '../../../cluster/client/object-path.ts';
import { viewPodReadiness } from '../../../cluster/nodes/node-pods.ts';
import type { ClusterDaemonSet } from '../../../cluster/objects/cluster-objects.ts';
import { type Entry, isNews } from '../../../cluster/watch/cached-objects.ts';
import type { WatchOptions } from '../../../cluster/watch/watch-options.ts';
import type { StoredNode } from '../../../judge/node-view.ts';
import type { Found } from '../../../judge/startup/blocker.ts';
import type { DaemonPodOnNode } from '../../../judge/startup/daemon-readiness.ts';
import { formatSelector } from '../../../kubernetes/selector-overlap.ts';
import type { PodObject } from '../../../objects/pod-object.ts';
import type { DaemonSets } from '../../cluster-watches.ts';
import type { Run } from '../../controller.ts';
import { foundIn, watchGroup } from './watch-group.ts';

/** A pod of a DaemonSet, as far as it is kept. */
interface StartupPod extends DaemonPodOnNode {
  /** The node that it is bound to; '' for none. */
  readonly node: string;
}

/** The node whose pods are asked for. */
export type AskedNode = Pick<StoredNode, 'name' | 'createdAt'>;

/** A watch of the pods of one DaemonSet. */
interface PodWatch {
  /** How many pods are kept, or will be. */
  expectedPods(): number;
  on(node: string): Found<readonly DaemonPodOnNode[]>;
  /** Since when it misses nothing, by the clock of the API server, in milliseconds since the epoch. Undefined before its first list. */
  readonly since: number | undefined;
}

interface PodWatchOptions extends Pick<WatchOptions<StartupPod>, 'fromNow' | 'onListed'> {
  /** Called with the number of pods that are kept, after each change. */
  readonly onSize?: (size: number) => void;
}

/** The watches of pods, by the uids of their DaemonSets. */
export interface PodWatches {
  readonly size: number;
  get(uid: string): PodWatch | undefined;
  /** How many pods all watches keep, or will. */
  expectedPods(): number;
  /** The DaemonSet must have no watch. */
  begin(daemonSet: Entry<ClusterDaemonSet>, options: PodWatchOptions): PodWatch;
  /** Does nothing if there is none. */
  end(uid: string): void;
  /** Ends all other watches. */
  retain(uids: ReadonlySet<string>): void;
  stop(): Promise<void>;
}

/**
 * @param resource the label of the metric
 * @param onChange called with the name of a node whose pods have changed; undefined for all nodes
 */
export function podWatches(
  run: Run,
  client: ApiClient,
  resource: string,
  daemonSets: Pick<DaemonSets, 'get'>,
  onChange: (node?: string) => void,
): PodWatches {
  const group = watchGroup<StartupPod>(run, client, resource);
  const watches = new Map<string, PodWatch>();

  return {
    get: (uid: string) => watches.get(uid),
    get size() {
      return watches.size;
    },
    expectedPods: () => [...watches.values()].reduce((sum, { expectedPods }) => sum + expectedPods(), 0),
    begin,
    end,
    retain,
    stop: group.stop,
  };

  function end(uid: string): void {
    group.end(uid);
    watches.delete(uid);
  }

  function retain(uids: ReadonlySet<string>): void {
    for (const uid of [...watches.keys()]) if (!uids.has(uid)) end(uid);
  }

  function begin(
    { uid, namespace, name, value: { podSelector } }: Entry<ClusterDaemonSet>,
    { onListed, onSize, ...options }: PodWatchOptions,
  ): PodWatch {
    const onNode = new Map<string, readonly StartupPod[]>();
    let since: number | undefined;
    const watch = group.begin(uid, {
      ...options,
      path: namespacedPath('/api/v1', namespace, 'pods'),
      labelSelector: formatSelector(podSelector),
      project(object) {
        const { spec } = object as PodObject;
        const pod = viewPodReadiness(object);
        // Thousands of pods share these texts.
        return { ...pod, namespace, owner: pod.owner === uid ? uid : pod.owner, node: spec?.nodeName ?? '' };
      },
      onChange(change) {
        const { value } = change.entry;
        const { node } = value;
        if (!isNews(change)) return;
        if (change.type === 'modified') remove(onNode, change.previous.value);
        if (change.type === 'deleted') remove(onNode, value);
        // Without a spread: its array would have room for 17.
        else if (node) onNode.set(node, onNode.get(node)?.concat(value) ?? [value]);
        // The first list is one change.
        if (node && watch.objects.isSynced()) onChange(node);
        onSize?.(watch.objects.size);
      },
      onListed() {
        since = client.now().getTime();
        onListed?.();
      },
      onRefusal: () => onChange(),
      onSynced: () => onChange(),
    });
    const found: PodWatch = {
      // A new DaemonSet wants none at first.
      expectedPods: () => Math.max(daemonSets.get(name, namespace)?.value.status.desired ?? 0, watch.objects.size),
      on: (node) => foundIn(watch.objects, () => onNode.get(node) ?? []),
      get since() {
        return since;
      },
    };
    watches.set(uid, found);
    return found;
  }
}

/** What several watches have, if each of them has been read. */
export function allFound(found: readonly Found<readonly DaemonPodOnNode[]>[]): Found<readonly DaemonPodOnNode[]> {
  if (found.includes('NotPermitted')) return 'NotPermitted';
  const read = found.filter((one) => typeof one !== 'string');
  return read.length === found.length ? { value: read.flatMap(({ value }) => value) } : 'Unread';
}

function remove(onNode: Map<string, readonly StartupPod[]>, pod: StartupPod): void {
  const others = onNode.get(pod.node)?.filter((one) => one !== pod) ?? [];
  if (others.length === 0) onNode.delete(pod.node);
  else onNode.set(pod.node, others);
}
