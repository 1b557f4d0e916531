import type { ApiClient } from '../../../cluster/client/api-client.ts';
import type { ClusterDaemonSet } from '../../../cluster/objects/cluster-objects.ts';
import type { Entry } from '../../../cluster/watch/cached-objects.ts';
import type { Found } from '../../../judge/startup/blocker.ts';
import type { DaemonPodOnNode } from '../../../judge/startup/daemon-readiness.ts';
import type { ReadyDaemonSet } from '../../../policy/ready-when.ts';
import type { DaemonSets } from '../../cluster-watches.ts';
import { type Run, startControllerReconciler } from '../../controller.ts';
import { type AskedNode, allFound, podWatches } from './pod-watches.ts';

/** The pods of DaemonSets that were created or changed since their watches began. */
export interface NewDaemonSetPods {
  /**
   * The pods of the DaemonSets that were created for a node. Undefined if one of the watches may have missed some. Call {@link end} when the node no
   * longer waits.
   */
  on(node: AskedNode, awaited: readonly ReadyDaemonSet[]): Found<readonly DaemonPodOnNode[]> | undefined;
  end(node: string): void;
  /** Watches the pods of these DaemonSets, and no others. */
  watch(awaited: readonly Entry<ClusterDaemonSet>[]): void;
  stop(): Promise<void>;
}

/** One label of the metric for all watches. */
const RESOURCE = 'startup-new-pods';

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

/**
 * Watches the pods of each DaemonSet without a list of those that exist: a new Node has none yet. Each further node costs no request.
 * @param onChange called with the name of a node whose pods have changed; undefined for all nodes
 */
export function watchNewDaemonSetPods(
  run: Run,
  client: ApiClient,
  daemonSets: Pick<DaemonSets, 'get'>,
  onChange: (node?: string) => void,
): NewDaemonSetPods {
  const watches = podWatches(run, client, RESOURCE, daemonSets, onChange);
  /** When a pod was first missing on a node, by performance.now(), in the order of time. It may be there now. */
  const missingSince = new Map<string, number>();
  /** The nodes whose missing pods may have been missed. */
  const doubted = new Set<string>();
  const checks = startControllerReconciler(run, 'startup-missing-pods', doubtMissing);
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
    watches.begin(daemonSet, {
      fromNow: true,
      // What was known is forgotten.
      onListed: () => onChange(),
      onSize(size) {
        if (size <= MAX_NEW_PODS) return;
        watches.end(daemonSet.uid);
        begin(daemonSet);
        onChange();
      },
    });
  }
}
