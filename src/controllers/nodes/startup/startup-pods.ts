import type { ApiClient } from '../../../cluster/client/api-client.ts';
import { viewPodReadiness } from '../../../cluster/nodes/node-pods.ts';
import type { Found } from '../../../judge/startup/blocker.ts';
import type { DaemonPodOnNode } from '../../../judge/startup/daemon-readiness.ts';
import type { ReadyDaemonSet } from '../../../policy/ready-when.ts';
import type { DaemonSets } from '../../cluster-watches.ts';
import type { Run } from '../../controller.ts';
import type { PerNode } from '../per-node.ts';
import { type DaemonSetPods, watchDaemonSetPods } from './daemon-set-pods.ts';
import { type NewDaemonSetPods, watchNewDaemonSetPods } from './new-daemon-set-pods.ts';
import { watchInTurn } from './own-watch-turns.ts';
import type { AskedNode } from './pod-watches.ts';

/** The pods on a node, for one step of it. */
export interface PodsOnNode {
  /**
   * The pods on the node, at least those of these DaemonSets that were created for it. Starts to watch them. NotPermitted if some of them may not be listed,
   * and Unread until all of them have been listed.
   */
  read(awaited: readonly ReadyDaemonSet[]): Found<readonly DaemonPodOnNode[]>;
  /** Ends the step. The node gets a watch of its own in turn if some of the pods need one. If none were read, it no longer waits, and its watches end. */
  endStep(): void;
}

/** The pods on the nodes that wait. */
export interface StartupPods {
  /** Begins a step of the node. Each taint reads pods, and the watches of the node are chosen for all of them together. */
  beginStep(node: AskedNode): PodsOnNode;
  /** A DaemonSet was added, changed or deleted, or policies no longer name it. */
  retain: DaemonSetPods['retain'];
  /** Watches the new pods of these DaemonSets, which nodes will wait for. */
  watchNew: NewDaemonSetPods['watch'];
  stop(): Promise<void>;
}

/**
 * For how long after a Node was deleted another one of that name may have pods of it, in milliseconds: the pod garbage collector deletes them about a
 * minute later, unless a Node of that name exists again (pkg/controller/podgc/gc_controller.go).
 */
const EARLIER_PODS_MS = 300_000;

/**
 * The pods of a new node come by watches that its DaemonSets have already. The pods of another node that waits are watched for it alone: the cost follows
 * these nodes, and not the size of the cluster. While too many such nodes wait, the others share watches of the DaemonSets that they wait for. If these would
 * take too much memory, the others get watches of their own in turn, as soon as a node no longer waits, or its turn ends.
 * @param onChange called with the name of a node whose pods have changed; undefined for all nodes
 */
export function watchStartupPods(
  run: Run,
  client: ApiClient,
  daemonSets: Pick<DaemonSets, 'get'>,
  kept: PerNode,
  onChange: (node?: string) => void,
): StartupPods {
  const created = watchNewDaemonSetPods(run, client, daemonSets, onChange);
  const shared = watchDaemonSetPods(run, client, daemonSets, onChange);
  const own = watchInTurn<DaemonPodOnNode>(run, {
    client,
    resource: 'startup-pods',
    path: '/api/v1/pods',
    fieldSelector: (node) => `spec.nodeName=${node}`,
    project: viewPodReadiness,
    onChange,
    endShared: () => shared.retain(() => []),
  });

  /** When Nodes were deleted lately, by their names, in the order of time: `created` does not know the earlier pods. */
  const deletions = new Map<string, number>();
  kept.onForget((node) => {
    end(node);
    noteDeletion(node);
  });

  return {
    beginStep(node) {
      const { name } = node;
      let isRead = false;
      let needsTurn = false;
      return {
        read(awaited) {
          isRead = true;
          const found = find(node, awaited);
          needsTurn ||= found === undefined;
          return found ?? 'Unread';
        },
        endStep() {
          if (!isRead) end(name);
          else if (needsTurn) own.queue(name);
          else own.leave(name);
        },
      };
    },
    retain: shared.retain,
    watchNew: created.watch,
    stop: async () => void (await Promise.all([created.stop(), own.stop(), shared.stop()])),
  };

  /**
   * The cheapest watches come first: those of new pods, which exist already, then a watch of the node's own, then watches that nodes share. Undefined if
   * the node has to be queued for a watch of its own. A node that is queued shares none: another of its taints waits for more pods than can be shared.
   */
  function find(node: AskedNode, awaited: readonly ReadyDaemonSet[]): Found<readonly DaemonPodOnNode[]> | undefined {
    const { name } = node;
    const found = createdOn(node, awaited) ?? own.readOrWatch(name);
    if (found !== undefined || own.isQueued(name)) return found;
    const inShared = sharedOn(node, awaited);
    if (inShared !== undefined) return inShared;
    // It can no longer share watches, but others may have ended theirs.
    own.unshare(name);
    return own.readOrWatch(name);
  }

  function createdOn(node: AskedNode, awaited: readonly ReadyDaemonSet[]) {
    return wasDeletedLately(node.name) || own.has(node.name) ? undefined : created.on(node, awaited);
  }

  function sharedOn(node: AskedNode, awaited: readonly ReadyDaemonSet[]) {
    const found = shared.readOrWatch(node, awaited);
    if (found !== undefined) own.share(node.name);
    return found;
  }

  function noteDeletion(node: string): void {
    const now = performance.now();
    for (const [name, at] of deletions) {
      if (now - at < EARLIER_PODS_MS) break;
      deletions.delete(name);
    }
    // At the end, although there may be an earlier one.
    deletions.delete(node);
    deletions.set(node, now);
  }

  function wasDeletedLately(node: string): boolean {
    const at = deletions.get(node);
    return at !== undefined && performance.now() - at < EARLIER_PODS_MS;
  }

  function end(node: string): void {
    created.end(node);
    own.end(node);
  }
}
