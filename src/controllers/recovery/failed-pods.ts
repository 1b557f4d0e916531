import type { Logger } from 'pino';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { Change, Entry } from '../../cluster/watch/cached-objects.ts';
import { watchResource } from '../../cluster/watch/watch-cache.ts';
import type { WatchState } from '../../cluster/watch/watch-options.ts';
import { isTerminating, type PodObject, podOwner } from '../../objects/pod-object.ts';

/** The message of the kubelet (pkg/kubelet/eviction). A pod that exceeded its own limit has another message. */
const NODE_EVICTION = /^(?:Pod was rejected: )?The node (?:was low on resource|had condition)/;

/** The kubelet's reasons have at most 30 characters. Other writers of `pods/status` may write texts of any length. */
const MAX_REASON = 256;

/** A daemon pod that is Failed, as far as it is kept. Most Failed pods are of Jobs, of which nothing is kept. */
export interface FailedPod {
  /** Name of the node that it is bound to. */
  readonly node: string;
  readonly deleting: boolean;
  /** `status.reason`, such as `NodeShutdown`; '' if there is none. */
  readonly reason: string;
  /** Whether the kubelet evicted or rejected the pod because of a shortage on the node. */
  readonly evicted: boolean;
  /** The DaemonSet that controls it. */
  readonly daemonSet: { readonly uid: string; readonly name: string };
}

/** A daemon pod that is Failed, and what this process has observed. Times are of performance.now(). */
export interface TrackedPod {
  readonly entry: Entry<FailedPod>;
  /** When it was first seen Failed. */
  readonly failedAt: number;
  /** Since when it has been recoverable; undefined while it is not. */
  readonly recoverableSince: number | undefined;
  observe(isRecoverable: boolean): void;
  /** Calls the function, unless the last news about the pod was the same. */
  reportOnce(news: string, report: () => void): void;
}

interface MutablePod extends TrackedPod {
  entry: TrackedPod['entry'];
  recoverableSince: TrackedPod['recoverableSince'];
}

export interface FailedPods {
  /** The keys (`NAMESPACE/NAME`) of the DaemonSets with Failed pods, or with Failed pods on that node. */
  daemonSets(node?: string): Iterable<string>;
  ofDaemonSet(key: string): readonly TrackedPod[];
  all(): Iterable<TrackedPod>;
  stop(): Promise<void>;
}

export interface FailedPodsOptions {
  readonly client: ApiClient;
  /** Pods of this namespace are ignored. */
  readonly leftOut: string;
  /** Called with the key of the DaemonSet whose Failed pods have changed. */
  readonly onChange: (daemonSet: string) => void;
  readonly onState: (state: WatchState) => void;
  readonly log: Logger;
}

export function watchFailedPods({ client, leftOut, onChange, onState, log }: FailedPodsOptions): FailedPods {
  /** By DaemonSet or node, and the uid of the pod. */
  const byDaemonSet = new Map<string, Map<string, MutablePod>>();
  const byNode = new Map<string, Map<string, MutablePod>>();
  const watch = watchResource<FailedPod | undefined>({
    client,
    path: '/api/v1/pods',
    fieldSelector: 'status.phase=Failed',
    project: projectFailedPod,
    onChange: follow,
    onState,
    log,
  });
  // It rejects if the watch ends before it is synced. No caller awaits it.
  watch.synced.catch(() => {});

  return {
    daemonSets: (node) =>
      node === undefined
        ? byDaemonSet.keys()
        : new Set([...(byNode.get(node)?.values() ?? [])].map(({ entry }) => keyOf(entry))),
    ofDaemonSet: (key) => [...(byDaemonSet.get(key)?.values() ?? [])],
    *all() {
      for (const pods of byDaemonSet.values()) yield* pods.values();
    },
    stop: () => watch.stop(),
  };

  function follow(change: Change<FailedPod | undefined>): void {
    const before =
      change.type === 'added' ? undefined : tracked(change.type === 'modified' ? change.previous : change.entry);
    const after = change.type === 'deleted' ? undefined : tracked(change.entry);
    const known = before && byDaemonSet.get(keyOf(before))?.get(before.uid);
    if (known && after && keyOf(before) === keyOf(after)) {
      known.entry = after;
    } else {
      // A controller can release a pod, and another one adopt it.
      if (before) forget(before);
      if (after) add(after);
    }
    if (after) onChange(keyOf(after));
  }

  function add(entry: Entry<FailedPod>): void {
    const pod = trackPod(entry);
    put(byDaemonSet, keyOf(entry), entry.uid, pod);
    put(byNode, entry.value.node, entry.uid, pod);
  }

  function forget(entry: Entry<FailedPod>): void {
    remove(byDaemonSet, keyOf(entry), entry.uid);
    remove(byNode, entry.value.node, entry.uid);
    onChange(keyOf(entry));
  }

  function tracked(entry: Entry<FailedPod | undefined>): Entry<FailedPod> | undefined {
    return isDaemonPod(entry) && entry.namespace !== leftOut ? entry : undefined;
  }
}

function trackPod(entry: Entry<FailedPod>): MutablePod {
  let reported: string | undefined;
  const pod: MutablePod = {
    entry,
    failedAt: performance.now(),
    recoverableSince: undefined,
    observe(isRecoverable) {
      pod.recoverableSince = isRecoverable ? (pod.recoverableSince ?? performance.now()) : undefined;
    },
    reportOnce(news, report) {
      if (reported === news) return;
      reported = news;
      report();
    },
  };
  return pod;
}

/** @returns undefined for a pod that is not bound to a node, or not controlled by a DaemonSet */
function projectFailedPod(object: unknown): FailedPod | undefined {
  const pod = object as PodObject;
  const { spec, status } = pod;
  const owner = podOwner(pod);
  if (owner?.kind !== 'DaemonSet' || !owner.apiVersion?.startsWith('apps/') || !spec?.nodeName) return undefined;
  const { reason = '' } = status ?? {};
  return {
    node: spec.nodeName,
    deleting: isTerminating(pod),
    reason: reason.length <= MAX_REASON ? reason : '',
    evicted: status?.reason === 'Evicted' && NODE_EVICTION.test(status.message ?? ''),
    daemonSet: { uid: owner.uid, name: owner.name ?? '' },
  };
}

function isDaemonPod(entry: Entry<FailedPod | undefined>): entry is Entry<FailedPod> {
  return entry.value !== undefined;
}

function keyOf({ namespace, value }: Entry<FailedPod>): string {
  return `${namespace}/${value.daemonSet.name}`;
}

function put(maps: Map<string, Map<string, MutablePod>>, key: string, uid: string, pod: MutablePod): void {
  const pods = maps.get(key) ?? new Map<string, MutablePod>();
  maps.set(key, pods.set(uid, pod));
}

function remove(maps: Map<string, Map<string, MutablePod>>, key: string, uid: string): void {
  const pods = maps.get(key);
  pods?.delete(uid);
  if (pods?.size === 0) maps.delete(key);
}
