import type { ApiClient } from '../../../cluster/client/api-client.ts';
import { namespacedPath } from '../../../cluster/client/object-path.ts';
import { viewPodReadiness } from '../../../cluster/nodes/node-pods.ts';
import type { Entry } from '../../../cluster/watch/cached-objects.ts';
import type { ClusterDaemonSet } from '../../../cluster/watch/cluster-objects.ts';
import type { WatchOptions } from '../../../cluster/watch/watch-options.ts';
import type { StoredNode } from '../../../judge/node-view.ts';
import type { Found } from '../../../judge/startup/blocker.ts';
import type { DaemonPodOnNode } from '../../../judge/startup/daemon-readiness.ts';
import { formatSelector } from '../../../kubernetes/selector-overlap.ts';
import type { PodObject } from '../../../objects/pod-object.ts';
import type { ReadyDaemonSet } from '../../../policy/ready-when.ts';
import { type DaemonSets, isNews } from '../../cluster-watches.ts';
import { type Run, startController } from '../../controller.ts';
import type { PerNode } from '../per-node.ts';
import { foundIn, watchGroup } from './watch-group.ts';

/** A pod of a DaemonSet, as far as it is kept. */
interface StartupPod extends DaemonPodOnNode {
  /** The node that it is bound to; '' for none. */
  readonly node: string;
}

/** The node whose pods are asked for. */
export type PodsOf = Pick<StoredNode, 'name' | 'createdAt'>;

/** The pods of the DaemonSets that nodes wait for. */
export interface DaemonSetPods {
  /**
   * The pods of the DaemonSets on a node. Starts to watch them, until {@link retain} ends the watch. Refused if one of them may not be listed, and
   * unread until all of them have been. Undefined if that would take the memory of too many pods.
   */
  on(node: PodsOf, awaited: readonly ReadyDaemonSet[]): Found<readonly DaemonPodOnNode[]> | undefined;
  /** Ends the watches of other DaemonSets. Asks for the awaited ones only if there is a watch. */
  retain(awaited: () => Iterable<{ readonly uid: string }>): void;
  stop(): Promise<void>;
}

/** The pods of DaemonSets that were created or changed since their watches began. */
export interface NewDaemonSetPods {
  /**
   * The pods of the DaemonSets that were created for a node. Undefined if one of the watches may have missed some. Call {@link end} when the node no
   * longer waits.
   */
  on(node: PodsOf, awaited: readonly ReadyDaemonSet[]): Found<readonly DaemonPodOnNode[]> | undefined;
  end(node: string): void;
  /** Watches the pods of these DaemonSets, and no others. */
  watch(awaited: readonly Entry<ClusterDaemonSet>[]): void;
  stop(): Promise<void>;
}

/** One label of the metric for all watches. */
const RESOURCE = 'startup-daemonset-pods';
const NEW_RESOURCE = 'startup-new-pods';

/**
 * How much later than the beginning of a watch a Node must have been created, in milliseconds. Both times have whole seconds, API servers' clocks differ, and
 * a pod may have been created a little before its Node.
 */
const MARGIN_MS = 5_000;

/**
 * For how long a node may have no pod of a DaemonSet until the watches may have missed it, in milliseconds. The DaemonSet controller creates the pod
 * within seconds. API servers' clocks may differ by more than {@link MARGIN_MS}: the pod is then older than the watch, and may not change any more.
 */
const MISSED_AFTER_MS = 30_000;

/**
 * The most pods of a DaemonSet that are kept of those that changed. In a cluster with more nodes, a rollout changes more. The watch begins anew then, and
 * nodes that wait get watches of their own.
 */
const MAX_NEW_PODS = 5_000;

/** No further DaemonSet is watched for the nodes that share watches if more pods than this would be kept. Each takes some 600 bytes, so all take 40 MB. */
export const MAX_SHARED_PODS = 64_000;

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
  const watches = podWatches(run, client, RESOURCE, daemonSets, onChange);
  return {
    on({ name: node }, awaited) {
      const existing = awaited.flatMap((one) => daemonSets.get(one.name, one.namespace) ?? []);
      const further = existing.filter(({ uid }) => !watches.get(uid));
      const pods = further.reduce((sum, { value }) => sum + value.status.desired, watches.expectedPods());
      if (further.length > 0 && pods > MAX_SHARED_PODS) return undefined;
      return allFound(
        existing.map((daemonSet) => (watches.get(daemonSet.uid) ?? watches.begin(daemonSet, {})).on(node)),
      );
    },
    retain(listAwaited) {
      if (watches.size === 0) return;
      watches.retain(new Set(Array.from(listAwaited(), ({ uid }) => uid)));
    },
    stop: watches.stop,
  };
}

/**
 * Watches the pods of each DaemonSet without a list of those that exist: a new Node has none yet. Each further node costs no request.
 * @param onChange called with the name of a node whose pods have changed; undefined for all nodes
 */
export function watchNewDaemonSetPods(
  run: Run,
  client: ApiClient,
  daemonSets: Pick<DaemonSets, 'get'>,
  kept: PerNode,
  onChange: (node?: string) => void,
): NewDaemonSetPods {
  const watches = podWatches(run, client, NEW_RESOURCE, daemonSets, onChange);
  /** When a pod was first missing on a node, by performance.now(), in the order of time. It may be there now. */
  const missingSince = new Map<string, number>();
  /** The nodes whose missing pods may have been missed. */
  const doubted = new Set<string>();
  kept.onForget(end);
  const checks = startController(run, 'startup-missing-pods', doubtMissing);
  return {
    on({ name, createdAt = 0 }, awaited) {
      const found: Found<readonly DaemonPodOnNode[]>[] = [];
      let isMissing = false;
      for (const one of awaited) {
        const daemonSet = daemonSets.get(one.name, one.namespace);
        if (!daemonSet) continue;
        const watch = watches.get(daemonSet.uid);
        if (watch?.since === undefined || createdAt < watch.since + MARGIN_MS) return undefined;
        const onNode = watch.on(name);
        found.push(onNode);
        isMissing ||= typeof onNode !== 'string' && !onNode.value.some(({ owner }) => owner === daemonSet.uid);
      }
      if (isMissing && doubted.has(name)) return undefined;
      if (isMissing && !missingSince.has(name)) {
        missingSince.set(name, performance.now());
        checks.trigger(MISSED_AFTER_MS);
      }
      return allFound(found);
    },
    end,
    watch(awaited) {
      watches.retain(new Set(awaited.map(({ uid }) => uid)));
      for (const daemonSet of awaited) if (!watches.get(daemonSet.uid)) begin(daemonSet);
    },
    stop: async () => void (await Promise.all([checks.stop(), watches.stop()])),
  };

  function end(node: string): void {
    missingSince.delete(node);
    doubted.delete(node);
  }

  /** @returns in how many milliseconds the next node may be doubted */
  async function doubtMissing(): Promise<number | undefined> {
    const now = performance.now();
    for (const [node, since] of missingSince) {
      const leftMs = since + MISSED_AFTER_MS - now;
      if (leftMs > 0) return leftMs;
      missingSince.delete(node);
      doubted.add(node);
      onChange(node);
    }
    return undefined;
  }

  function begin(daemonSet: Entry<ClusterDaemonSet>): void {
    const watch = watches.begin(daemonSet, {
      fromNow: true,
      onListed() {
        watch.since = client.now().getTime();
        // What was known is forgotten.
        onChange();
      },
      onSize(size) {
        if (size <= MAX_NEW_PODS) return;
        watches.end(daemonSet.uid);
        begin(daemonSet);
        onChange();
      },
    });
  }
}

interface PodWatch {
  /** How many pods are kept, or will be. */
  expectedPods(): number;
  on(node: string): Found<readonly DaemonPodOnNode[]>;
  /** Since when it misses nothing, by the clock of the API server, in milliseconds since the epoch. Undefined if that is not known. */
  since?: number;
}

interface PodWatchOptions extends Pick<WatchOptions<StartupPod>, 'fromNow' | 'onListed'> {
  /** Called with the number of pods that are kept, after each change. */
  readonly onSize?: (size: number) => void;
}

/** The watches of pods, by the uids of their DaemonSets. */
function podWatches(
  run: Run,
  client: ApiClient,
  resource: string,
  daemonSets: Pick<DaemonSets, 'get'>,
  onChange: (node?: string) => void,
) {
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
    { onSize, ...options }: PodWatchOptions,
  ): PodWatch {
    const onNode = new Map<string, readonly StartupPod[]>();
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
      onRefusal: () => onChange(),
      onSynced: () => onChange(),
    });
    const found: PodWatch = {
      // A new DaemonSet wants none at first.
      expectedPods: () => Math.max(daemonSets.get(name, namespace)?.value.status.desired ?? 0, watch.objects.size),
      on: (node) => foundIn(watch.objects, () => onNode.get(node) ?? []),
    };
    watches.set(uid, found);
    return found;
  }
}

/** What several watches have, if each of them has been read. */
function allFound(found: readonly Found<readonly DaemonPodOnNode[]>[]): Found<readonly DaemonPodOnNode[]> {
  if (found.includes('Refused')) return 'Refused';
  const read = found.filter((one) => typeof one !== 'string');
  return read.length === found.length ? { value: read.flatMap(({ value }) => value) } : 'Unread';
}

function remove(onNode: Map<string, readonly StartupPod[]>, pod: StartupPod): void {
  const others = onNode.get(pod.node)?.filter((one) => one !== pod) ?? [];
  if (others.length === 0) onNode.delete(pod.node);
  else onNode.set(pod.node, others);
}
