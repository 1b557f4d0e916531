import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { ClusterNode } from '../../cluster/objects/cluster-objects.ts';
import type { ClusterPolicies } from '../../cluster/policies/policies.ts';
import type { Change, Entry } from '../../cluster/watch/cached-objects.ts';
import { memoryAfterWrite } from '../../judge/node/memory-after-write.ts';
import { isBlank, type NodeMemory, newMemory } from '../../judge/node/node-memory.ts';
import { type NodeStep, nodeStep } from '../../judge/node/node-step.ts';
import { isInConflict } from '../../judge/node/undone-changes.ts';
import type { BootChange } from '../../judge/startup/reboot.ts';
import type { Taint } from '../../kubernetes/taint.ts';
import { turnQueue } from '../../runtime/turn-queue.ts';
import type { PerNode } from './per-node.ts';
import type { StartupWaits } from './startup/startup-waits.ts';

/**
 * Five boots a second are written, apart from reboots that the watch shows, and five a second are deleted: a policy that is new, or was deleted, may concern
 * each node of the cluster.
 */
const BOOT_WRITES_MS = 200;

export interface RememberedStepsOptions {
  readonly client: Pick<ApiClient, 'now'>;
  readonly policies: Pick<ClusterPolicies, 'snapshot' | 'isComplete'>;
  readonly startup: Pick<StartupWaits, 'duringStep'>;
  readonly kept: PerNode;
  /** Called when the boot of a node may be written that had to wait for its turn. */
  readonly onTurn: (node: string) => void;
  /** Ends the turns. */
  readonly signal: AbortSignal;
}

/** What Nodes need, with what the leader knows of each: see {@link nodeStep}. It writes nothing. */
export interface RememberedSteps {
  /**
   * What the Node needs now. Keeps what the leader knows of the Node after the step. Begins and ends the watches of the node. Queues the node for a turn if
   * its boot must be written.
   */
  takeStep(entry: Entry<ClusterNode>): NodeStep;
  /** Call it with each change, before {@link takeStep}: nothing keeps pods off a node that has rebooted, so it waits for no turn. */
  noteReboot(change: Change<ClusterNode>): void;
  /** @param unstored the taints that are set again after a reboot, and that the API server did not store */
  written(entry: Entry<ClusterNode>, step: NodeStep, unstored: readonly Taint[]): void;
  /** Whether another writer undid the leader's changes of the node's taint repeatedly. */
  isInConflict(node: string, taint: Taint): boolean;
}

export function rememberedSteps({
  client,
  policies,
  startup,
  kept,
  onTurn,
  signal,
}: RememberedStepsOptions): RememberedSteps {
  const memories = kept.map<NodeMemory>();
  const recordTurns = turnQueue({ intervalMs: BOOT_WRITES_MS, onTurn, signal });
  /** Apart, because nothing is harmed if a deletion waits, and pods may come to a node that waits for its taint. */
  const deletionTurns = turnQueue({ intervalMs: BOOT_WRITES_MS, onTurn, signal });
  /** The nodes whose reboots the watch has shown. */
  const rebooting = new Set<string>();
  kept.onForget(forgetBoot);

  return {
    takeStep({ name, value: node }) {
      const step = startup.duringStep(node, (blockers) =>
        nodeStep(node, memories.get(name), {
          policies: policies.snapshot().compiled.taintPolicies,
          blockers,
          isComplete: policies.isComplete('TaintPolicy'),
          now: performance.now(),
          apiTime: client.now().getTime(),
          bootDueInMs: (kind) => (kind === 'SetAgain' && rebooting.has(name) ? 0 : dueInMs(name, kind)),
        }),
      );
      if (!step.hasBootToWrite) forgetBoot(name);
      keep(name, step.memoryIfUnwritten);
      return step;
    },
    noteReboot(change) {
      if (isReboot(change)) rebooting.add(change.entry.name);
    },
    written({ name, value: { uid = '', bootId } }, step, taints) {
      // A further write is another turn.
      if (step.startup.boot) forgetBoot(name);
      // The watch may have shown the write already, or another Node of that name.
      const present = memories.get(name);
      const memory = present?.uid === uid ? present : newMemory(uid);
      keep(name, memoryAfterWrite(memory, step, performance.now(), { bootId, taints }));
    },
    isInConflict(node, taint) {
      const memory = memories.get(node);
      return memory !== undefined && isInConflict(memory, taint, performance.now());
    },
  };

  function keep(node: string, memory: NodeMemory): void {
    if (isBlank(memory)) memories.delete(node);
    else memories.set(node, memory);
  }

  function dueInMs(node: string, kind: BootChange['kind']): number {
    const [turns, others] = kind === 'Delete' ? [deletionTurns, recordTurns] : [recordTurns, deletionTurns];
    others.leave(node);
    return turns.dueInMs(node);
  }

  /** The node waits for no turn any more. */
  function forgetBoot(node: string): void {
    rebooting.delete(node);
    recordTurns.leave(node);
    deletionTurns.leave(node);
  }
}

/** A watch, and not a list, shows that the node has another boot ID. */
function isReboot(change: Change<ClusterNode>): boolean {
  if (change.type !== 'modified' || change.isListed) return false;
  const { bootId } = change.entry.value;
  return bootId !== undefined && bootId !== change.previous.value.bootId;
}
