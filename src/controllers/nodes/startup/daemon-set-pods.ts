import type { ApiClient } from '../../../cluster/client/api-client.ts';
import type { Found } from '../../../judge/startup/blocker.ts';
import type { DaemonPodOnNode } from '../../../judge/startup/daemon-readiness.ts';
import type { ReadyDaemonSet } from '../../../policy/ready-when.ts';
import type { DaemonSets } from '../../cluster-watches.ts';
import type { Run } from '../../controller.ts';
import { type AskedNode, allFound, podWatches } from './pod-watches.ts';

/** The pods of the DaemonSets that nodes wait for. */
export interface DaemonSetPods {
  /**
   * The pods of the DaemonSets on a node. Starts to watch them, until {@link retain} ends the watch. NotPermitted if one of them may not be listed, and
   * Unread until all of them have been listed. Undefined if that would take the memory of too many pods.
   */
  readOrWatch(node: AskedNode, awaited: readonly ReadyDaemonSet[]): Found<readonly DaemonPodOnNode[]> | undefined;
  /** Ends the watches of other DaemonSets. Asks for the awaited ones only if there is a watch. */
  retain(awaited: () => Iterable<{ readonly uid: string }>): void;
  stop(): Promise<void>;
}

/** One label of the metric for all watches. */
const RESOURCE = 'startup-daemonset-pods';

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
    readOrWatch({ name: node }, awaited) {
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
