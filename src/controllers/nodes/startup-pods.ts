import type { ApiClient } from '../../cluster/client/api-client.ts';
import { viewPodReadiness } from '../../cluster/nodes/node-pods.ts';
import type { Found } from '../../judge/startup/blocker.ts';
import type { DaemonPodOnNode } from '../../judge/startup/daemon-readiness.ts';
import type { ReadyDaemonSet } from '../../policy/ready-when.ts';
import type { DaemonSets } from '../cluster-watches.ts';
import { type Run, startController } from '../controller.ts';
import {
  type DaemonSetPods,
  type NewDaemonSetPods,
  type PodsOf,
  watchDaemonSetPods,
  watchNewDaemonSetPods,
} from './daemon-set-pods.ts';
import { watchByNode } from './watches-by-node.ts';

/** The pods on the nodes that wait. */
export interface StartupPods {
  /**
   * The pods on a node, at least those of these DaemonSets that were created for it. Starts to watch them, until {@link end}. Refused if some of them may
   * not be listed, and unread until all of them have been.
   */
  on(node: PodsOf, awaited: readonly ReadyDaemonSet[]): Found<readonly DaemonPodOnNode[]>;
  /** The node no longer waits. */
  end(node: string): void;
  /** The Node was deleted. */
  forget(node: string): void;
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

/** For how long a node keeps its own watch while others are queued, in milliseconds, once its pods were read. Some nodes are never ready. */
const TURN_MS = 30_000;
/** How often turns end while nodes are queued. */
const TURN_CHECK_MS = 10_000;

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
  onChange: (node?: string) => void,
): StartupPods {
  const created = watchNewDaemonSetPods(run, client, daemonSets, onChange);
  const shared = watchDaemonSetPods(run, client, daemonSets, onChange);
  const single = watchByNode<DaemonPodOnNode>(run, {
    client,
    resource: 'startup-pods',
    path: '/api/v1/pods',
    fieldSelector: (node) => `spec.nodeName=${node}`,
    project: viewPodReadiness,
    onChange,
    endShared: () => shared.retain(() => []),
  });

  /** The nodes that get watches of their own in turn. A node stays here until it has one, or needs none. */
  const queued = new Set<string>();
  /** When Nodes were deleted lately, by their names, in the order of time: `created` does not know the earlier pods. */
  const deletions = new Map<string, number>();
  const turns = startController(run, 'startup-turns', endTurns);

  return {
    on(node, awaited) {
      const found = find(node, awaited);
      if (found === undefined) {
        queued.add(node.name);
        turns.trigger(TURN_CHECK_MS);
      } else if (queued.delete(node.name)) promote();
      return found ?? 'Unread';
    },
    end,
    forget(node) {
      end(node);
      const now = performance.now();
      for (const [name, at] of deletions) {
        if (now - at < EARLIER_PODS_MS) break;
        deletions.delete(name);
      }
      // At the end, although there may be an earlier one.
      deletions.delete(node);
      deletions.set(node, now);
    },
    retain: shared.retain,
    watchNew: created.watch,
    stop: async () => void (await Promise.all([turns.stop(), created.stop(), single.stop(), shared.stop()])),
  };

  /** Undefined if the node has to wait for a watch of its own. */
  function find(node: PodsOf, awaited: readonly ReadyDaemonSet[]): Found<readonly DaemonPodOnNode[]> | undefined {
    const { name } = node;
    const isNew = !wasDeletedLately(name) && !single.has(name);
    const found = (isNew ? created.on(node, awaited) : undefined) ?? ownOn(name);
    if (found !== undefined) return found;
    const sharedPods = shared.on(node, awaited);
    if (sharedPods !== undefined) {
      single.share(name);
      return sharedPods;
    }
    // It can no longer share watches, but others may have ended theirs.
    single.end(name);
    return ownOn(name);
  }

  function wasDeletedLately(node: string): boolean {
    const at = deletions.get(node);
    return at !== undefined && performance.now() - at < EARLIER_PODS_MS;
  }

  function ownOn(node: string): Found<readonly DaemonPodOnNode[]> | undefined {
    const isNext = queued.has(node) ? nextNodes().includes(node) : single.free() > queued.size;
    return single.has(node) || isNext ? single.on(node) : undefined;
  }

  function end(node: string): void {
    queued.delete(node);
    single.end(node);
    promote();
  }

  /** @returns in how many milliseconds the next turns may end */
  async function endTurns(): Promise<number | undefined> {
    if (queued.size === 0) return undefined;
    const needed = Math.max(0, queued.size - single.free());
    for (const node of single.readFor(TURN_MS).slice(0, needed)) {
      single.end(node);
      queued.add(node);
    }
    promote();
    return TURN_CHECK_MS;
  }

  function promote(): void {
    for (const node of nextNodes()) onChange(node);
  }

  /** The nodes that the free watches are for: the first ones that are queued. */
  function nextNodes(): string[] {
    const free = single.free();
    // Each step of a node that does not wait asks for them, and thousands may be queued.
    return free === 0 ? [] : [...queued].slice(0, free);
  }
}
