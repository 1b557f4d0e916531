import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isFinal } from '../../cluster/client/api-error.ts';
import type { ClusterNode } from '../../cluster/cluster-objects.ts';
import type { ClusterPolicies } from '../../cluster/policies.ts';
import type { ServiceRef } from '../../cluster/service-endpoint.ts';
import type { Change, Entry } from '../../cluster/watch/cached-objects.ts';
import {
  isBlank,
  isInConflict,
  memoryAfterReboot,
  memoryAfterRestoration,
  type NodeMemory,
  newMemory,
} from '../../judge/node/node-memory.ts';
import { type KeptNode, type NodeStep, nodeStep } from '../../judge/node/node-step.ts';
import type { DesiredNode } from '../../judge/node-view.ts';
import type { RecordedEvent } from '../../kubernetes/event.ts';
import type { Taint } from '../../kubernetes/taint.ts';
import { spacedTurns } from '../../runtime/rate-limit.ts';
import type { Source } from '../../runtime/source.ts';
import { takeTurns } from '../../runtime/turns.ts';
import { CONFLICT_PAUSE_MS, type Controller, type Run, startController, startControllerQueue } from '../controller.ts';
import type { Reports } from '../reports.ts';
import type { Rights } from '../rights.ts';
import { type ExistingNodes, isNews, type Reading, type WatchedDaemonSets } from '../sources.ts';
import { trackNodeReports } from './node-reports.ts';
import { type NodeWrite, nodeWriter } from './node-writer.ts';
import { trackRepairProblems } from './repair-problems.ts';
import { checkStartupChanges, startStartupWaits } from './startup-waits.ts';

/** All nodes are checked again at this interval, whatever the watch shows. */
const SWEEP_MS = 600_000;
const CONCURRENCY = 8;
/** Five boots a second are written of those that a list shows: a policy that is new, or was created again, may concern each node of the cluster. */
const BOOT_WRITES_MS = 200;
type NodeEntry = Entry<ClusterNode>;

export interface NodeRepairOptions {
  readonly client: ApiClient;
  /** The Service whose pods are the replicas. */
  readonly service: ServiceRef;
  readonly nodes: ExistingNodes & Pick<Reading, 'synced'>;
  readonly daemonSets: WatchedDaemonSets & Pick<Reading, 'synced' | 'isSynced'>;
  readonly policies: Pick<ClusterPolicies, 'snapshot' | 'isComplete' | 'changes'>;
  readonly rights: Rights;
  readonly recordEvent: (event: RecordedEvent) => void;
  readonly reports: Pick<Reports, 'add'>;
}

export interface NodeRepair extends Controller {
  /** Whether another writer undoes the changes of the node's taint repeatedly. */
  isInConflict(node: string, taint: Taint): boolean;
  /** What the startup taints of the node wait for, in words. */
  startupOn(node: string): string | undefined;
  /** Emits when one of these answers may have changed. */
  readonly changes: Source;
}

/**
 * Keeps nodes as the policies declare them, whether or not the webhook saw the change: watch event → what is missing → one write. {@link nodeStep} has
 * the rules, and needs only the present objects.
 */
export function startNodeRepair(run: Run, options: NodeRepairOptions): NodeRepair {
  const { client, nodes, policies, recordEvent, reports } = options;
  const { signal, metrics, log } = run;
  const memories = new Map<string, NodeMemory>();
  const compiled = () => policies.snapshot().compiled.taintPolicies;
  const problems = trackRepairProblems({ client, onChange: () => changes.next() });
  const nodeReports = trackNodeReports({ problems, recordEvent, metrics, log });
  const writer = nodeWriter(client, signal);
  const bootTurns = spacedTurns(BOOT_WRITES_MS);
  /** The nodes whose reboots the watch has shown: nothing keeps pods off them, so they have no turn to wait for. */
  const rebooting = new Set<string>();
  const queue = startControllerQueue(run, 'node-repair', { work: repair, concurrency: CONCURRENCY });
  const startup = startStartupWaits(run, {
    ...options,
    check: queue.add,
    onChange: () => changes.next(),
  });
  const sweep = startController(run, 'node-sweep', sweepNodes);
  const changes = reports.add({ problems: () => [...problems.list(), ...startup.problems()] });
  /** Whether the policies have changed since the last sweep. */
  let policiesChanged = true;

  nodes.changes.subscribe(onNode, signal);
  policies.changes.subscribe(() => {
    policiesChanged = true;
    sweep.restart();
  }, signal);

  return {
    isInConflict(name, taint) {
      const memory = memories.get(name);
      return memory !== undefined && isInConflict(memory, taint, performance.now());
    },
    startupOn: startup.startupOn,
    changes,
    stop: async () => void (await Promise.all([sweep.stop(), queue.stop(), startup.stop()])),
  };

  function onNode(change: Change<ClusterNode>): void {
    const { name } = change.entry;
    if (change.type === 'deleted') {
      // At once: the next event may be of another Node of that name.
      forget(name);
      // A repair that is in progress may report something of it.
      queue.add(name);
    } else if (isNews(change)) {
      if (isReboot(change)) rebooting.add(name);
      check(change.entry);
    } else if (change.type === 'modified' && writer.outdatedForMs(change.previous) !== undefined) {
      // After a conflict, a heartbeat shows that the watch has a newer version.
      queue.add(name);
    }
  }

  /** Queues the Node if a worker has something to do: only a fraction of thousands need one. */
  function check(entry: NodeEntry, add = queue.add): void {
    const { name } = entry;
    const { drift, startup: waits, conflicting, desired, nextInMs } = takeStep(entry);
    const isWrong = drift.losses.length + waits.waiting.length + conflicting.length > 0 || desired !== undefined;
    // What was reported may have ended, also by a repair in progress.
    const isKnown =
      nodeReports.has(name) || problems.has(name) || startup.startupOn(name) !== undefined || queue.isInProgress(name);
    if (isWrong || isKnown) add(name);
    else if (nextInMs !== undefined) queue.add(name, nextInMs);
  }

  function takeStep(entry: NodeEntry): NodeStep {
    const { name } = entry;
    const node = keptNode(entry);
    let asksForTurn = false;
    const step = nodeStep(node, memories.get(name), {
      policies: compiled(),
      blockers: startup.blockersOn(node),
      isComplete: policies.isComplete('TaintPolicy'),
      now: performance.now(),
      apiTime: client.now().getTime(),
      bootDueInMs(kind) {
        asksForTurn = true;
        return kind === 'SetAgain' && rebooting.has(name) ? 0 : bootTurns.dueInMs(name);
      },
    });
    if (!asksForTurn) forgetBoot(name);
    startup.settled(name);
    remember(name, step.memory);
    return step;
  }

  function remember(name: string, memory: NodeMemory): void {
    if (isBlank(memory)) memories.delete(name);
    else memories.set(name, memory);
  }

  /** A step is cheap, and a sweep does not wait for repairs. */
  async function sweepNodes(): Promise<number | undefined> {
    await nodes.synced;
    // Nodes that failed with the earlier policies do not wait for the end of their back-off.
    const add = policiesChanged ? queue.restart : queue.add;
    policiesChanged = false;
    const turn = takeTurns();
    for (const entry of nodes.entries()) {
      check(entry, add);
      await turn();
      if (signal.aborted) return undefined;
    }
    metrics.swept('node-repair', Date.now());
    return SWEEP_MS;
  }

  async function repair(name: string): Promise<number | undefined> {
    await nodes.synced;
    const entry = nodes.get(name);
    if (!entry) {
      // One that cannot be read still exists.
      if (!nodes.has(name)) forget(name);
      return undefined;
    }
    const outdatedForMs = writer.outdatedForMs(entry);
    // The watch nearly always shows the newer version before.
    if (outdatedForMs !== undefined) return outdatedForMs;
    const step = takeStep(entry);
    startup.observe(entry, step.startup);
    const result = step.desired === undefined ? undefined : await write(entry, step.desired, step);
    if (result === undefined || result === 'Written') {
      problems.notRefused(name);
      startup.notRefused(name);
    }
    problems.withoutEvicting(name, entry.value.taints, step.drift.losses);
    await problems.inConflict(name, step.memory.conflicts);
    nodeReports.staying(entry, step.drift.losses);
    nodeReports.conflicting(entry, step.conflicting);
    return result === 'Outdated' ? CONFLICT_PAUSE_MS : step.nextInMs;
  }

  function forgetBoot(name: string): void {
    rebooting.delete(name);
    bootTurns.forget(name);
  }

  function forget(name: string): void {
    forgetBoot(name);
    memories.delete(name);
    writer.forget(name);
    nodeReports.forget(name);
    problems.forget(name);
    startup.forget(name);
  }

  async function write(entry: NodeEntry, desired: DesiredNode, step: NodeStep): Promise<NodeWrite> {
    const { name, uid } = entry;
    const { drift, startup: changed, ended } = step;
    const changesStartup = changed.late.length + changed.again.length + changed.removable.length > 0;
    const verify = (stored: readonly Taint[]) => checkStartupChanges(changed, stored);
    const result = await writer.write(entry, desired, changesStartup ? verify : undefined).catch((error) => {
      if (isFinal(error)) {
        problems.refused(name, drift.losses, error);
        if (changesStartup) startup.refused(name, changed, error);
      }
      throw error;
    });
    if (result !== 'Written') return result;
    // A further write is another turn.
    if (changed.boot) forgetBoot(name);
    const now = performance.now();
    // The watch may have shown the write already, or another Node of that name.
    const known = memories.get(name);
    const memory = known?.uid === uid ? known : newMemory(uid);
    const restored = drift.losses.flatMap(({ taint, blockedBy }) => (blockedBy ? [] : [taint]));
    const atStartup = [...changed.late, ...changed.removable].map(({ taint }) => taint);
    const setAgain = [...changed.again, ...changed.waiting.map(({ requirement }) => requirement)]
      .filter(({ setsAgain }) => setsAgain)
      .map(({ taint }) => taint);
    const rebooted = changed.boot?.kind === 'SetAgain' ? memoryAfterReboot(memory, setAgain, now) : memory;
    remember(name, {
      ...memoryAfterRestoration(rebooted, [...restored, ...atStartup], now),
      ...(ended.length > 0 ? { entriesEndedAt: now } : {}),
    });
    nodeReports.written(entry, step);
    startup.written(entry, changed);
    return result;
  }
}

/** A watch, and not a list, shows that the node has another boot ID. */
function isReboot(change: Change<ClusterNode>): boolean {
  if (change.type !== 'modified' || change.isListed) return false;
  const { bootId } = change.entry.value;
  return bootId !== undefined && bootId !== change.previous.value.bootId;
}

function keptNode({ uid, value }: Pick<NodeEntry, 'uid' | 'value'>): KeptNode {
  return { ...value, uid, createdAt: value.createdAt ?? 0 };
}
