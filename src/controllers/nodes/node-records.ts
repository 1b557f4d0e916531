import { isDeepStrictEqual } from 'node:util';
import { type ApiError, isFinal, isForbidden, isNotFound } from '../../cluster/client/api-error.ts';
import { NODE_RECORDS, type StoredRecord } from '../../cluster/node-records.ts';
import type { ClusterPolicies } from '../../cluster/policies.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { establishment } from '../../judge/establishment.ts';
import {
  establishedIn,
  MAX_KEPT_TAINTS,
  type NodeRecord,
  type RecordedTaint,
  recordedTaints,
} from '../../judge/node-record.ts';
import { owedTaints } from '../../judge/node-return.ts';
import { type RecordedNode, recordOf, recordsTaints } from '../../judge/record-keeping.ts';
import { isOver, type StartupProgress } from '../../judge/startup-progress.ts';
import { UNKNOWN_MACHINE } from '../../kubernetes/machine.ts';
import { identity, valuesOf } from '../../kubernetes/taint.ts';
import { atMost } from '../../kubernetes/text.ts';
import { selectingPolicies } from '../../policy/policy-index.ts';
import type { CompiledTaintPolicy } from '../../policy/policy-set.ts';
import { pause } from '../../runtime/pause.ts';
import { tokenBucket } from '../../runtime/rate-limit.ts';
import { type LeaderContext, startController } from '../context.ts';
import type { ReportedProblem } from '../reports.ts';
import { type ClusterNode, isNews } from '../sources.ts';
import { eventsOfReturn } from './node-reports.ts';
import { trackRemovalSteps } from './removal-steps.ts';
import { trackTaintStays } from './taint-arrivals.ts';

/** All records are computed again at this interval, because retention times end. */
const SWEEP_MS = 600_000;
/** Records that are computed before other work gets a turn. */
const SWEEP_SLICE = 200;
/** Changes within this time are written together. */
const SETTLE_MS = 200;
/** Requests in a burst, and the time for each further one, in milliseconds: 5,000 new records take 100 s. */
const REQUESTS = { burst: 50, refillMs: 20 };
/** Someone else writes the object as well. */
const CONFLICT_PAUSE_MS = 500;
/** What no policy asks for is kept for so long after policies have changed: some tools delete policies and create them again. */
const FORGET_MS = 3_600_000;
/** So long where the node does not carry the taint. It is to stay away, but a command that replaces a policy must not forget a loss. */
const FORGET_LOST_MS = 10_000;
/** The entry of a removal is deleted so long after the record was written: by then, the other replicas' watches have it. */
const SPREAD_MS = 2_000;
/** Autoscalers delete nodes all the time, and most of them never come back. */
export const MAX_DELETED_NODES = 1_000;
/** Nodes that a message names. */
const MAX_NAMED = 5;

type NodeEntry = Pick<Entry<ClusterNode>, 'name' | 'uid' | 'value'>;

export type NodeRecordsContext = Pick<
  LeaderContext,
  'client' | 'nodeRecords' | 'synced' | 'nodes' | 'record' | 'reports' | 'metrics' | 'log' | 'signal'
> & { readonly policies: Pick<ClusterPolicies, 'snapshot' | 'isComplete' | 'changes'> };

/** What nodes are to carry by their records. */
export interface RecordKeeper {
  /** Resolves once the first attempt to read the records has ended, or no policy needs them. */
  readonly tried: Promise<void>;
  /** What the record of this Node lists: nothing where no policy needs records; undefined while they have not been read. */
  recordedOn(node: NodeEntry): readonly RecordedTaint[] | undefined;
  /** Whether the record has been written as it is, and replicas have seen it. */
  isSpread(name: string): boolean;
  /** What the record says of the startup taints of this Node, and whether it is written; undefined until the records have been read. */
  startupOf(
    node: NodeEntry,
  ): { readonly progress: readonly StartupProgress[]; readonly isWritten: boolean } | undefined;
  keepStartup(node: NodeEntry, progress: readonly StartupProgress[]): void;
  stop(): Promise<void>;
}

/**
 * Keeps a NodeTaintRecord of each node with taints that policies have recorded: see {@link recordsTaints}. With `deletedNodeRetentionSeconds`, a
 * kubelet may register its node again before the leader has seen the deletion, or while there is no leader. The records also hold the progress
 * of startup taints.
 *
 * @param lookAgain called with the name of a node whose record has changed, or that is owed something; or whose record will change in so many
 * milliseconds, because a taint will be established then
 * @param onRead called once the records have been read
 * @param onStartup called with the name of a node that may have startup taints: it, its record or the policies have changed
 */
export function startNodeRecords(
  context: NodeRecordsContext,
  lookAgain: (name: string, inMs?: number) => void,
  onRead: () => void,
  onStartup: (name: string) => void,
): RecordKeeper {
  const { client, nodeRecords: store, synced, nodes, policies, reports, log, signal } = context;
  const compiled = () => policies.snapshot().compiled.taintPolicies;
  const recording = () => compiled().filter(recordsTaints);
  const withStartup = () => compiled().filter(({ untilReady }) => untilReady.length > 0);
  const isAsked = () => compiled().some((policy) => recordsTaints(policy) || policy.untilReady.length > 0);
  /** The records as they should be, by the names of nodes; undefined until the stored ones have been read. */
  let records: Map<string, NodeRecord> | undefined;
  const { promise: tried, resolve: setTried } = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => setTried(), { once: true });
  /** As they were last read or written. */
  let stored = new Map<string, StoredRecord>();
  /** Names whose records may have to be written. */
  const unwritten = new Set<string>();
  /** Names of records that the watch saw change: by our own write, or by someone else. */
  const doubtful = new Set<string>();
  /** Names of records that were not as expected when they were written. */
  const conflicts = new Set<string>();
  /** Why the API server refused records, by name. */
  const refused = new Map<string, string>();
  const requests = tokenBucket(REQUESTS.burst, REQUESTS.refillMs);
  const stays = trackTaintStays();
  const steps = trackRemovalSteps(({ labels }, taint) =>
    selectingPolicies(compiled(), labels).some(
      ({ mode, protectedBy }) => mode !== 'Audit' && protectedBy(taint) !== undefined,
    ),
  );
  /** Of records that were written a moment ago, the timers that end the wait for the other replicas. */
  const spreading = new Map<string, NodeJS.Timeout>();
  signal.addEventListener('abort', () => spreading.forEach(clearTimeout), { once: true });
  /** Nodes that carry a taint which is not established yet, and will be. */
  const establishing = new Set<string>();
  /** Nodes with more established taints than a record lists. */
  const full = new Set<string>();
  let policiesSince = performance.now();
  let sweepAt = 0;
  let problem: string | undefined;
  /** Whether records were looked for although no policy asks for them. */
  let isChecked = false;

  const changed = reports.add({
    problems: () => [...fullRecords(), ...(problem === undefined ? [] : unwrittenRecords(problem))],
  });
  const writing = startController(context, 'node-records', reconcile, { pauseMs: SETTLE_MS });
  nodes.changes.subscribe((change) => {
    if (!isNews(change)) return;
    const { name } = change.entry;
    steps.notice(change);
    const entry = nodes.get(name);
    // At once: a node that was not Ready for a moment begins again.
    if (entry) stays.look(entry);
    else {
      stays.gone(name);
      establishing.delete(name);
    }
    if (records) take(records, name);
  }, signal);
  policies.changes.subscribe(() => {
    policiesSince = performance.now();
    sweepAt = 0;
    writing.restart();
  }, signal);
  store.changes.subscribe((name) => {
    if (!records || isAsSeen(name)) return;
    doubtful.add(name);
    writing.trigger();
  }, signal);

  return {
    tried,
    recordedOn({ name, uid }) {
      if (!records) return isAsked() ? undefined : [];
      if (establishing.has(name)) compute(records, name);
      const record = records.get(name);
      return recordedTaints(record, uid);
    },
    isSpread(name) {
      return records !== undefined && isWritten(records, name) && !spreading.has(name);
    },
    startupOf({ name, uid }) {
      if (!records) return undefined;
      const record = records.get(name);
      const progress = record?.uid === uid ? (record.startup ?? []) : [];
      return { progress, isWritten: isWritten(records, name) };
    },
    keepStartup(entry, startup) {
      const { name, uid } = entry;
      if (!records || nodes.get(name)?.uid !== uid) return;
      take(records, name);
      const record = records.get(name) ?? { uid, machine: machineIn(entry), taints: [] };
      records.set(name, { ...record, startup });
      take(records, name);
    },
    stop: writing.stop,
  };

  function unwrittenRecords(why: string): ReportedProblem[] {
    const notWritten = ({ kind, name: policy }: CompiledTaintPolicy, effect: string): ReportedProblem => ({
      ...{ kind, policy, reason: 'NodeRecordsNotWritten', message: `${effect}: ${why}` },
    });
    return [
      ...recording().map((policy) =>
        notWritten(
          policy,
          policy.deletedNodeRetentionMs === undefined
            ? 'taints that nodes lose while taintkeeper is unavailable are not restored'
            : 'nodes may get nothing back when they are deleted',
        ),
      ),
      ...withStartup().map((policy) => notWritten(policy, 'startup taints are not removed')),
    ];
  }

  function fullRecords(): ReportedProblem[] {
    const names = atMost(MAX_NAMED, [...full]).join(', ');
    const waiting = full.size === 0 ? [] : recording().filter(({ establishes }) => establishes);
    return waiting.map(({ kind, name: policy }) => ({
      kind,
      policy,
      reason: 'NodeRecordFull',
      message: `a key with "*" protects at most ${MAX_KEPT_TAINTS} taints of a node, and these carry more: ${names}`,
    }));
  }

  function now(): number {
    return client.now().getTime();
  }

  /** Versions are compared for equality only: a restored etcd counts them again. */
  function isAsSeen(name: string): boolean {
    return store.versionOf(name) === stored.get(name)?.resourceVersion;
  }

  /** Computes the record of a name that may have changed, and has the node looked at if it is owed something. */
  function take(known: Map<string, NodeRecord>, name: string): void {
    compute(known, name);
    if (known.get(name)?.taints.some(({ missingSince }) => missingSince !== undefined)) lookAgain(name);
  }

  function unchangedMs(): number {
    return performance.now() - policiesSince;
  }

  /** Computes the record of a name from the node of that name, if there is one. */
  function compute(known: Map<string, NodeRecord>, name: string): void {
    const before = known.get(name);
    const entry = nodes.get(name);
    const node = entry && nodeOf(name, entry, before);
    const isComplete = policies.isComplete('TaintPolicy');
    const computed = recordOf(before, node, {
      policies: compiled(),
      now: now(),
      forgets: isComplete && unchangedMs() >= FORGET_MS,
      forgetsLost: isComplete && unchangedMs() >= FORGET_LOST_MS,
    });
    if (before && entry && before.uid !== entry.uid) tell(before, entry);
    const after = isDeepStrictEqual(before, computed) ? before : computed;
    if (after !== before && entry) lookAgain(name);
    if (after) known.set(name, after);
    else known.delete(name);
    const isFull = Boolean(after && node && after.taints.length >= MAX_KEPT_TAINTS && leavesOut(after, node));
    if (isFull !== full.has(name)) {
      if (isFull) full.add(name);
      else full.delete(name);
      changed();
    }
    if (!isWritten(known, name)) {
      unwritten.add(name);
      writing.trigger();
    }
    if (entry && (after?.startup !== undefined || requiresStartup(entry))) onStartup(name);
  }

  function requiresStartup({ value }: NodeEntry): boolean {
    return withStartup().some((policy) => policy.mode !== 'Audit' && policy.selectsNode(value.labels));
  }

  function leavesOut(record: NodeRecord, { taints, labels, established }: RecordedNode): boolean {
    const isListed = establishedIn(record);
    const waiting = selectingPolicies(compiled(), labels).filter(({ establishes }) => establishes);
    return taints.some(
      (taint) =>
        !isListed(taint) && established(taint) && waiting.some(({ protectedBy }) => protectedBy(taint) !== undefined),
    );
  }

  /** The node, with the taints that are established on it by now. */
  function nodeOf(name: string, entry: Entry<ClusterNode>, before: NodeRecord | undefined): RecordedNode {
    stays.look(entry);
    const node = { ...entry.value, uid: entry.uid, machine: machineIn(entry) };
    const { established, nextInMs } = establishment(node, before, compiled(), (taint) => stays.stayedMs(name, taint));
    if (nextInMs === undefined) {
      establishing.delete(name);
    } else {
      establishing.add(name);
      lookAgain(name, nextInMs);
    }
    return { ...node, established, removedInOneStep: (taint) => steps.has(name, taint) };
  }

  function isWritten(known: ReadonlyMap<string, NodeRecord>, name: string): boolean {
    const found = stored.get(name);
    return found ? isDeepStrictEqual(found.record, known.get(name)) && known.has(name) : !known.has(name);
  }

  /** Reports what a node that registered again has of what it carried before. */
  function tell(before: NodeRecord, entry: NodeEntry): void {
    const carried = valuesOf(entry.value.taints);
    const returned = owedTaints(
      before,
      { labels: entry.value.labels, machine: machineIn(entry) },
      compiled(),
      now(),
    ).filter(({ taint }) => carried.get(identity(taint)) === taint.value);
    for (const event of eventsOfReturn(entry, returned)) context.record(event);
  }

  async function reconcile(): Promise<number | undefined> {
    if (!records && !isAsked() && isChecked) {
      setTried();
      return undefined;
    }
    await synced;
    try {
      if (!records && !isAsked() && !(await hasWaiting())) {
        setTried();
        return undefined;
      }
      if (!records) {
        records = await begin();
        await sweep(records);
        setTried();
        onRead();
      }
      for (const name of doubtful) {
        doubtful.delete(name);
        if (!isAsSeen(name)) conflicts.add(name);
      }
      for (const name of conflicts) await lookUp(records, name);
      if (performance.now() >= sweepAt) await sweep(records);
      // Taints that nodes have lost, and no policy has recorded any more, are forgotten then.
      if (unchangedMs() < FORGET_LOST_MS) sweepAt = Math.min(sweepAt, policiesSince + FORGET_LOST_MS);
      forgetOldest(records);
      for (const name of unwritten) await write(records, name);
      report();
      return conflicts.size > 0 ? CONFLICT_PAUSE_MS : Math.max(1, sweepAt - performance.now());
    } catch (error) {
      if (isFinal(error)) report(error);
      throw error;
    } finally {
      setTried();
    }
  }

  /** Whether nodes wait although no policy asks for records: the policy may have been deleted while there was no leader. */
  async function hasWaiting(): Promise<boolean> {
    try {
      const found = await store.list(client);
      isChecked = true;
      return [...found.values()].some(({ record }) => record?.startup?.some((one) => !isOver(one)));
    } catch (error) {
      // Without the definition, there are no records.
      if (!isNotFound(error) && !isForbidden(error)) throw error;
      isChecked = true;
      return false;
    }
  }

  /** Reads what an earlier leader wrote, which this replica's watch may not have seen yet. */
  async function begin(): Promise<Map<string, NodeRecord>> {
    stored = await store.list(client);
    store.follow();
    // One object in memory for what the watch has as well.
    for (const [name, found] of stored) {
      if (isAsSeen(name)) stored.set(name, { ...found, record: store.recordOf(name) });
    }
    return new Map([...stored].flatMap(([name, { record }]) => (record ? [[name, record]] : [])));
  }

  /**
   * Takes what someone else did to a record. Its deletion means that the node is accepted as it is. A record that is not known is taken
   * over. Other changes are overwritten.
   */
  async function lookUp(known: Map<string, NodeRecord>, name: string): Promise<void> {
    await turn();
    const found = await store.get(client, name);
    conflicts.delete(name);
    if (found === undefined) {
      if (stored.delete(name)) {
        known.delete(name);
        stays.gone(name);
      }
    } else {
      stored.set(name, found);
      if (found.record && !known.has(name)) {
        known.set(name, found.record);
        lookAgain(name);
      }
    }
    take(known, name);
  }

  async function sweep(known: Map<string, NodeRecord>): Promise<void> {
    // Policies that change meanwhile are for the next one.
    sweepAt = performance.now() + SWEEP_MS;
    const names = Array.from(nodes.entries(), ({ name }) => name);
    let count = 0;
    for (const name of new Set([...names, ...known.keys(), ...stored.keys()])) {
      take(known, name);
      if (++count % SWEEP_SLICE === 0) await new Promise(setImmediate);
    }
  }

  function forgetOldest(known: Map<string, NodeRecord>): void {
    const deleted = [...known].flatMap(([name, { deletedAt }]) => (deletedAt === undefined ? [] : { name, deletedAt }));
    if (deleted.length <= MAX_DELETED_NODES) return;
    const forgotten = deleted.toSorted((a, b) => b.deletedAt - a.deletedAt).slice(MAX_DELETED_NODES);
    for (const { name } of forgotten) {
      known.delete(name);
      unwritten.add(name);
    }
    log.info(`forgot ${forgotten.length} deleted nodes, the oldest: records of ${MAX_DELETED_NODES} are kept`);
  }

  async function write(known: Map<string, NodeRecord>, name: string): Promise<void> {
    if (!isWritten(known, name)) await turn();
    const record = known.get(name);
    const before = stored.get(name);
    unwritten.delete(name);
    if (isWritten(known, name)) {
      refused.delete(name);
      return;
    }
    try {
      if (record) {
        const after = await store.write(client, name, record, before);
        if (after) stored.set(name, after);
        else conflicts.add(name);
      } else if (before) {
        if (await store.remove(client, name, before)) stored.delete(name);
        else conflicts.add(name);
      }
      refused.delete(name);
      if (record?.startup) onStartup(name);
      if (!conflicts.has(name)) spread(name);
    } catch (error) {
      if (!isFinal(error) || isNotFound(error) || isForbidden(error)) {
        unwritten.add(name);
        throw error;
      }
      // Only this record is refused: the next sweep tries again.
      refused.set(name, (error as ApiError).message);
      return;
    }
    // It may have changed while it was written.
    if (!conflicts.has(name) && !isWritten(known, name)) unwritten.add(name);
  }

  /** Has the node looked at again once replicas have seen what was written: see {@link SPREAD_MS}. */
  function spread(name: string): void {
    clearTimeout(spreading.get(name));
    const timer = setTimeout(() => {
      spreading.delete(name);
      if (nodes.get(name)?.value.allowRemoval !== undefined) lookAgain(name);
    }, SPREAD_MS);
    spreading.set(name, timer);
  }

  async function turn(): Promise<void> {
    while (!requests.take()) {
      await pause(requests.waitMs(), signal);
      signal.throwIfAborted();
    }
  }

  function report(error?: ApiError): void {
    const before = problem;
    const names = atMost(MAX_NAMED, [...refused.keys()]).join(', ');
    problem = error
      ? problemOf(error)
      : refused.size > 0
        ? `the API server refuses the records of ${names}: ${refused.values().next().value}`
        : undefined;
    if (problem !== before) changed();
  }
}

function problemOf(error: ApiError): string {
  const { message } = error;
  return isNotFound(error)
    ? `the API server does not serve ${NODE_RECORDS}: install the CustomResourceDefinition ${NODE_RECORDS}.taintkeeper.dev (${message})`
    : message;
}

function machineIn({ value }: NodeEntry) {
  return value.machine ?? UNKNOWN_MACHINE;
}
