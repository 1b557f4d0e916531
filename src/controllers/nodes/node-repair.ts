import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isFinal } from '../../cluster/client/api-error.ts';
import type { ServiceRef } from '../../cluster/installation/service-ref.ts';
import type { ClusterNode } from '../../cluster/objects/cluster-objects.ts';
import type { ClusterPolicies } from '../../cluster/policies/policies.ts';
import { type Change, type Entry, isNews } from '../../cluster/watch/cached-objects.ts';
import type { NodeStep } from '../../judge/node/node-step.ts';
import type { Taint } from '../../kubernetes/taint.ts';
import type { RecordedEvent } from '../../policy/reporting/recorded-event.ts';
import { longLoop } from '../../runtime/long-loop.ts';
import { createSubject, type Source } from '../../runtime/source.ts';
import type { ExistingNodes, SyncState, WatchedDaemonSets } from '../cluster-watches.ts';
import {
  CONFLICT_PAUSE_MS,
  type Controller,
  type Run,
  startControllerQueue,
  startControllerReconciler,
} from '../controller.ts';
import type { Rights } from '../optional-rights.ts';
import type { Reports } from '../reports.ts';
import { trackNodeEvents } from './node-events.ts';
import { nodeWriter } from './node-writer.ts';
import { perNode } from './per-node.ts';
import { type RememberedSteps, rememberedSteps } from './remembered-steps.ts';
import { trackRepairProblems } from './repair-problems.ts';
import { startStartupWaits } from './startup/startup-waits.ts';
import { type RepairParts, writeStep } from './step-writer.ts';

/** All nodes are checked again at this interval, whatever the watch shows. */
const SWEEP_MS = 600_000;
const CONCURRENCY = 8;
type NodeEntry = Entry<ClusterNode>;

export interface NodeRepairOptions {
  readonly client: ApiClient;
  /** The Service whose pods are the replicas. */
  readonly service: ServiceRef;
  readonly nodes: ExistingNodes & Pick<SyncState, 'synced'>;
  readonly daemonSets: WatchedDaemonSets & SyncState;
  readonly policies: Pick<ClusterPolicies, 'snapshot' | 'isComplete' | 'changes'>;
  readonly rights: Rights;
  readonly recordEvent: (event: RecordedEvent) => void;
  readonly reports: Pick<Reports, 'add'>;
}

export interface NodeRepair extends Controller {
  /** Whether another writer undid the leader's changes of the node's taint repeatedly. */
  isInConflict(node: string, taint: Taint): boolean;
  /** What the startup taints of the node wait for, in words. */
  startupOn(node: string): string | undefined;
  /** Emits when one of these answers may have changed. */
  readonly changes: Source;
}

/**
 * Keeps nodes as the policies declare them, whether or not the webhook saw the change: watch event → what is missing → one write,
 * or several if that is refused.
 * {@link RememberedSteps} says what is missing, by the rules of `judge/node/node-step.ts`.
 */
export function startNodeRepair(run: Run, options: NodeRepairOptions): NodeRepair {
  const { client, service, nodes, daemonSets, policies, rights, recordEvent, reports } = options;
  const { signal, metrics, log } = run;
  const kept = perNode();
  const changes = createSubject();
  /** Whether the policies have changed since the last sweep. */
  let policiesChanged = true;
  const problems = trackRepairProblems({ client, kept, onChange: changes.next });
  const queue = startControllerQueue(run, 'node-repair', { work, concurrency: CONCURRENCY, isLasting: isFinal });
  const startup = startStartupWaits(run, {
    client,
    service,
    daemonSets,
    policies,
    rights,
    recordEvent,
    kept,
    check: queue.restart,
    onChange: changes.next,
  });
  reports.add('nodes', { changes, problems: () => [...problems.list(), ...startup.problems()] });
  const steps = rememberedSteps({ client, policies, startup, kept, onTurn: (node) => queue.add(node), signal });
  const writer = nodeWriter(client, kept, signal);
  const nodeEvents = trackNodeEvents({ kept, problems, recordEvent, metrics, log });
  const parts: RepairParts = { steps, startup, writer, problems, nodeEvents };
  const sweep = startControllerReconciler(run, 'node-sweep', sweepNodes);

  nodes.changes.subscribe(onNode, signal);
  policies.changes.subscribe(() => {
    policiesChanged = true;
    sweep.restart();
  }, signal);

  return {
    isInConflict: steps.isInConflict,
    startupOn: startup.startupOn,
    changes,
    stop: async () => void (await Promise.all([sweep.stop(), queue.stop(), startup.stop()])),
  };

  function onNode(change: Change<ClusterNode>): void {
    const { name } = change.entry;
    if (change.type === 'deleted') {
      // At once: the next event may be of another Node of that name.
      forget(name);
      // A repair that is in progress may record something of it.
      queue.restart(name);
    } else if (isNews(change)) {
      steps.noteReboot(change);
      // What was refused may be allowed now: another admission plugin may read what has changed.
      check(change.entry, queue.restart);
    } else if (change.type === 'modified' && writer.outdatedForMs(change.previous) !== undefined) {
      // After a conflict or a write, this shows that the watch has a newer version.
      queue.add(name);
    }
  }

  /** Queues the Node if a worker has something to do: only a fraction of thousands need one. */
  function check(entry: NodeEntry, add: (node: string) => void): void {
    const { name } = entry;
    const outdatedForMs = writer.outdatedForMs(entry);
    if (outdatedForMs !== undefined) {
      queue.add(name, outdatedForMs);
      return;
    }
    const step = steps.takeStep(entry);
    // What was recorded may have ended, also by a repair in progress.
    if (needsWorker(step) || isTracked(name, parts) || queue.isInProgress(name)) add(name);
    else if (step.nextInMs !== undefined) queue.add(name, step.nextInMs);
  }

  /** A step is cheap, and a sweep does not wait for repairs. */
  async function sweepNodes(): Promise<number | undefined> {
    await nodes.synced;
    // Nodes that failed with the earlier policies do not wait for the end of their back-off.
    const add = policiesChanged ? queue.restart : queue.add;
    policiesChanged = false;
    const letOthersRun = longLoop();
    for (const entry of nodes.entries()) {
      check(entry, add);
      await letOthersRun();
      if (signal.aborted) return undefined;
    }
    metrics.swept('node-repair', Date.now());
    return SWEEP_MS;
  }

  async function work(name: string): Promise<number | undefined> {
    await nodes.synced;
    const entry = nodes.get(name);
    if (entry) return repair(entry, parts);
    // One that cannot be read still exists.
    if (!nodes.has(name)) forget(name);
    return undefined;
  }

  function forget(name: string): void {
    if (kept.forget(name)) changes.next();
  }
}

function needsWorker({ drift, startup, leftAlone, desired }: NodeStep): boolean {
  return drift.missing.length + startup.waiting.length + leftAlone.length > 0 || desired !== undefined;
}

function isTracked(name: string, { nodeEvents, problems, startup }: RepairParts): boolean {
  return nodeEvents.has(name) || problems.has(name) || startup.isTracked(name);
}

/**
 * Writes what the Node needs, and records what it lacks after that.
 * @returns in how many milliseconds the Node is to be checked again; undefined for never
 */
async function repair(entry: NodeEntry, parts: RepairParts): Promise<number | undefined> {
  const { steps, startup, writer, problems, nodeEvents } = parts;
  const { name } = entry;
  const outdatedForMs = writer.outdatedForMs(entry);
  // The watch nearly always shows the newer version before.
  if (outdatedForMs !== undefined) return outdatedForMs;
  // The Node may have changed since it was queued.
  const step = steps.takeStep(entry);
  startup.noteWaiting(entry, step.startup);
  // First: a write takes over the taints, and the API server forgets their last writer. A read that fails does not prevent the write.
  const [conflictsSet] = await Promise.allSettled([problems.setConflicts(name, step.memoryIfUnwritten.conflicts)]);
  const [written] = await Promise.allSettled([writeStep(entry, step, parts)]);
  // Taints that no write sets are reported even if the write fails.
  problems.setWouldEvict(name, entry.value.taints, step.drift.missing);
  if (conflictsSet.status === 'fulfilled') {
    nodeEvents.recordBlocked(entry, step.drift.missing);
    nodeEvents.recordLeftAlone(entry, step.leftAlone);
  }
  for (const result of [written, conflictsSet]) if (result.status === 'rejected') throw result.reason;
  const isToRepeat = written.status === 'fulfilled' && written.value === 'Repeat';
  return isToRepeat ? CONFLICT_PAUSE_MS : step.nextInMs;
}
