import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isFinal } from '../../cluster/client/api-error.ts';
import type { ClusterNode } from '../../cluster/cluster-objects.ts';
import type { NodeRecords } from '../../cluster/node-records.ts';
import type { ClusterPolicies } from '../../cluster/policies.ts';
import type { ServiceRef } from '../../cluster/service-endpoint.ts';
import type { Change, Entry } from '../../cluster/watch/cached-objects.ts';
import {
  historyAfter,
  historyAfterRepair,
  historyWithoutTimes,
  isInConflict,
  type NodeHistory,
  newHistory,
} from '../../judge/node-history.ts';
import { recordedTaints } from '../../judge/node-record.ts';
import { type KeptNode, type NodeStep, nodeStep } from '../../judge/node-step.ts';
import type { DesiredNode } from '../../judge/node-view.ts';
import { FORGET_LOST_MS, nextRecord, type RecordKeeping } from '../../judge/record-keeping.ts';
import type { RecordedEvent } from '../../kubernetes/event.ts';
import { UNKNOWN_MACHINE } from '../../kubernetes/machine.ts';
import { identity, type Taint, valuesOf } from '../../kubernetes/taint.ts';
import { enforcedPolicies } from '../../policy/policy-index.ts';
import { anyOf, type Source } from '../../runtime/source.ts';
import { takeTurns } from '../../runtime/turns.ts';
import { CONFLICT_PAUSE_MS, type Controller, type Run, startController, startControllerQueue } from '../controller.ts';
import type { Reports } from '../reports.ts';
import type { Rights } from '../rights.ts';
import { type ExistingNodes, isNews, type WatchedDaemonSets } from '../sources.ts';
import { eventsOfReturn, trackNodeReports } from './node-reports.ts';
import { type NodeWrite, nodeWriter } from './node-writer.ts';
import { startRecordStore } from './record-store.ts';
import { trackRepairProblems } from './repair-problems.ts';
import { startStartupTaintRemoval } from './startup-taint-removal.ts';

/** All nodes are checked again at this interval: a time that ends causes no event. */
const SWEEP_MS = 600_000;
const CONCURRENCY = 8;
type NodeEntry = Entry<ClusterNode>;

export interface NodeRepairOptions {
  readonly client: ApiClient;
  /** The Service whose pods are the replicas. */
  readonly service: ServiceRef;
  readonly nodes: ExistingNodes;
  readonly daemonSets: WatchedDaemonSets;
  /** Resolves when `nodes` has all of them. A DaemonSet that is not known yet keeps the startup taints that wait for it. */
  readonly synced: Promise<unknown>;
  readonly nodeRecords: NodeRecords;
  readonly policies: Pick<ClusterPolicies, 'snapshot' | 'isComplete' | 'changes'>;
  readonly rights: Rights;
  /** Every policy is taken to be in mode Audit: no taint is set, and only startup taints are removed that were set before. */
  readonly audit: boolean;
  readonly recordEvent: (event: RecordedEvent) => void;
  readonly reports: Pick<Reports, 'add'>;
}

export interface NodeRepair extends Controller {
  /** Whether another writer removes the taint from the node repeatedly. */
  isInConflict(node: string, taint: Taint): boolean;
  /** What the startup taints of the node wait for, in words. */
  startupOn(node: string): string | undefined;
  /** Emits when one of these answers may have changed. */
  readonly changes: Source;
}

/**
 * Keeps nodes, and the records of what they carry, as the policies declare them, whether or not the webhook saw the change. Each event of the
 * watch goes into the history of its node, and its record; a worker then writes the node. {@link nodeStep} has the rules.
 */
export function startNodeRepair(run: Run, options: NodeRepairOptions): NodeRepair {
  const { client, service, nodes, daemonSets, synced, nodeRecords, policies, rights } = options;
  const { audit, recordEvent, reports } = options;
  const { signal, metrics, log } = run;
  const compiled = () => policies.snapshot().compiled.taintPolicies;
  const histories = new Map<string, NodeHistory>();
  let policiesSince = performance.now();
  /** The value of {@link policiesSince} for the last sweep. */
  let sweptSince = policiesSince;
  const problems = trackRepairProblems({ client, policies: compiled, onChange: () => changes.next() });
  const nodeReports = trackNodeReports({ problems, recordEvent, metrics, log });
  const writer = nodeWriter(client, signal);

  const queue = startControllerQueue(run, 'node-repair', {
    work: repair,
    concurrency: CONCURRENCY,
  });
  const records = startRecordStore(run, {
    client,
    nodeRecords,
    synced,
    policies,
    reports,
    onRead: () => sweep.trigger(),
    onFound: (name) => queue.add(name),
    onWritten(name) {
      if (records.find(name)?.record?.startup) startup.check(name);
    },
    onSpread(name) {
      // Only now may entries of the annotation be deleted.
      if (nodes.get(name)?.value.allowRemoval !== undefined) queue.add(name);
    },
    onDeleted(name) {
      const entry = nodes.get(name);
      if (!entry) return;
      histories.set(name, historyWithoutTimes(historyOf(entry), keptNode(entry), performance.now()));
      queue.add(name);
    },
  });
  const startup = startStartupTaintRemoval(run, {
    client,
    writer,
    service,
    synced,
    nodes,
    daemonSets,
    policies,
    rights,
    recordEvent,
    reports,
    records,
  });
  const sweep = startController(run, 'node-sweep', sweepNodes);
  // After the reports of the record store and of startup taints: problems are reported in this order.
  const changes = reports.add({ problems: problems.list });
  nodes.changes.subscribe((change) => {
    if (isNews(change)) observe(change);
    // After a conflict, a heartbeat shows that the watch has a newer version.
    else if (change.type === 'modified' && writer.isOutdated(change.previous)) queue.add(change.entry.name);
  }, signal);
  policies.changes.subscribe(() => {
    policiesSince = performance.now();
    sweep.restart();
  }, signal);

  return {
    isInConflict(name, taint) {
      const history = histories.get(name);
      return history !== undefined && isInConflict(history, taint, performance.now());
    },
    startupOn: startup.startupOn,
    changes: anyOf(changes, startup.changes),
    async stop() {
      await Promise.all([sweep.stop(), queue.stop(), records.stop(), startup.stop()]);
    },
  };

  function observe(change: Change<ClusterNode>): void {
    if (change.type === 'deleted') {
      // At once: the next event may be of another Node of that name.
      forget(change.entry.name);
      // A repair that is in progress may report something of it.
      queue.add(change.entry.name);
      return;
    }
    const { entry } = change;
    const previous =
      change.type === 'modified' && change.previous.uid === entry.uid ? change.previous.value : undefined;
    const isListed = change.type === 'modified' && change.isListed === true;
    const event = { node: keptNode(entry), previous, isListed };
    histories.set(entry.name, historyAfter(histories.get(entry.name), event, compiled(), performance.now()));
    // At once: the next event may hide what this one did.
    check(entry);
  }

  /** Takes the step, and queues the Node if a worker has something to do: only a fraction of thousands need one. */
  function check(entry: NodeEntry, add = queue.add): void {
    const { name } = entry;
    const { losses, desired, additions, nextInMs } = takeStep(entry);
    const isWrong = losses.length + additions.length > 0 || desired !== undefined;
    // What was reported may have ended, also by a repair in progress.
    const isKnown = nodeReports.has(name) || problems.has(name) || queue.isInProgress(name);
    if (isWrong || isKnown) add(name);
    else if (nextInMs !== undefined) queue.add(name, nextInMs);
  }

  function historyOf(entry: NodeEntry): NodeHistory {
    const known = histories.get(entry.name);
    if (known?.uid === entry.uid) return known;
    const begun = newHistory(keptNode(entry), performance.now());
    histories.set(entry.name, begun);
    return begun;
  }

  function keeping(): RecordKeeping {
    return {
      policies: compiled(),
      now: client.now().getTime(),
      policiesUnchangedMs: policies.isComplete('TaintPolicy') ? performance.now() - policiesSince : undefined,
    };
  }

  /** Computes the step, and has its record stored. Only {@link repair} accepts additions, because it reports them. */
  function takeStep(entry: NodeEntry): NodeStep {
    const { name } = entry;
    const step = nodeStep(keptNode(entry), historyOf(entry), records.find(name), {
      ...keeping(),
      monotonicMs: performance.now(),
      isSpread: (given) => records.isSpread(name, given),
      otherWriterOf: (taint) => problems.otherWriterOf(name, taint),
      refusal: problems.refusalOf(name),
    });
    records.put(name, step.record);
    const { history, accepted } = step;
    histories.set(name, step.additions.length === 0 ? { ...history, accepted } : history);
    for (const event of eventsOfReturn(entry, step.returned)) recordEvent(event);
    problems.recordIsFull(name, step.isRecordFull);
    if (step.record?.startup !== undefined || requiresStartup(entry)) startup.check(name);
    return step;
  }

  function keepDeleted(name: string): void {
    records.put(name, nextRecord(records.find(name)?.record, undefined, keeping()));
  }

  function requiresStartup({ value }: NodeEntry): boolean {
    return enforcedPolicies(compiled(), value.labels).some(({ untilReady }) => untilReady.length > 0);
  }

  /** A step is cheap, and a sweep does not wait for repairs. */
  async function sweepNodes(): Promise<number | undefined> {
    await synced;
    await records.tried;
    const forgetsLostAt = policiesSince + FORGET_LOST_MS;
    // At the start of the sweep: nodes that were checked too early are checked again.
    const isEarly = performance.now() < forgetsLostAt;
    // Nodes that failed with the earlier policies do not wait for the end of their back-off.
    const add = sweptSince === policiesSince ? queue.add : queue.restart;
    sweptSince = policiesSince;
    const turn = takeTurns();
    for (const entry of nodes.entries()) {
      check(entry, add);
      await turn();
      if (signal.aborted) return undefined;
    }
    for (const name of records.names()) if (!nodes.has(name)) keepDeleted(name);
    metrics.swept('node-repair', Date.now());
    return isEarly ? Math.max(1, forgetsLostAt - performance.now()) : SWEEP_MS;
  }

  async function repair(name: string): Promise<number | undefined> {
    await records.tried;
    const entry = nodes.get(name);
    if (!entry) {
      // One that cannot be read still exists, and its record protects its taints.
      if (!nodes.has(name)) forget(name);
      return undefined;
    }
    // The watch will show the newer version.
    if (writer.isOutdated(entry)) return undefined;
    const step = takeStep(entry);
    const { losses, desired, additions } = step;
    histories.set(name, { ...step.history, accepted: step.accepted });
    nodeReports.added(entry, additions);
    problems.withoutEvicting(name, losses);
    const result = desired === undefined || audit ? undefined : await write(entry, desired, step);
    problems.notRefused(name);
    await problems.inConflict(name, step.history.conflicts);
    nodeReports.staying(entry, losses);
    return result === 'Outdated' ? CONFLICT_PAUSE_MS : step.nextInMs;
  }

  function forget(name: string): void {
    keepDeleted(name);
    histories.delete(name);
    writer.forget(name);
    nodeReports.forget(name);
    problems.forget(name);
    startup.check(name);
  }

  async function write(entry: NodeEntry, desired: DesiredNode, step: NodeStep): Promise<NodeWrite> {
    const { name } = entry;
    const { additions } = step;
    // An entry of the annotation may have to be deleted first. Then this write restores nothing.
    const carried = valuesOf(desired.taints);
    const losses = step.losses.filter(
      ({ taint, blockedBy }) => blockedBy ?? carried.get(identity(taint)) === (taint.value ?? ''),
    );
    // Before the write: the watch may show its result before the API server answers.
    const earlier = [...recordedTaints(step.record, entry.uid), ...step.history.lost];
    const result = await writer.write(entry, desired).catch((error) => {
      if (isFinal(error)) problems.refused(name, losses, error);
      throw error;
    });
    if (result !== 'Written') return result;
    repaired(
      entry,
      [...losses, ...additions].flatMap(({ taint, blockedBy }) => (blockedBy ? [] : [taint])),
    );
    nodeReports.written(entry, { ...step, losses }, additions, earlier);
    return result;
  }

  function repaired(entry: NodeEntry, taints: readonly Taint[]): void {
    // The watch may have shown the write already, or another Node of that name.
    const history = histories.get(entry.name);
    if (history?.uid === entry.uid) {
      histories.set(entry.name, historyAfterRepair(history, taints, performance.now()));
    }
  }
}

function keptNode({ uid, value }: Pick<NodeEntry, 'uid' | 'value'>): KeptNode {
  return { ...value, uid, machine: value.machine ?? UNKNOWN_MACHINE };
}
