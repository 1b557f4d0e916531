import { isDeepStrictEqual } from 'node:util';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { type ApiError, isFinal, isForbidden, isNotServed } from '../../cluster/client/api-error.ts';
import {
  getRecord,
  listRecords,
  NODE_RECORDS,
  type NodeRecords,
  removeRecord,
  type StoredRecord,
  writeRecord,
} from '../../cluster/node-records.ts';
import type { ClusterPolicies } from '../../cluster/policies.ts';
import { isOver, type NodeRecord, type StartupProgress, withoutMissing } from '../../judge/node-record.ts';
import { recordsTaints } from '../../judge/record-keeping.ts';
import type { Machine } from '../../kubernetes/machine.ts';
import type { CompiledTaintPolicy } from '../../policy/policy-set.ts';
import { takeTurn, tokenBucket } from '../../runtime/rate-limit.ts';
import { CONFLICT_PAUSE_MS, type Run, startController, startControllerQueue } from '../controller.ts';
import type { ReportedProblem, Reports } from '../reports.ts';

/** Changes within this time are written together. */
const DEBOUNCE_MS = 200;
/** Requests in a burst, and the time for each further one, in milliseconds: 5,000 new records take 100 s. */
const REQUESTS = { burst: 50, refillMs: 20 };
/** This many refusals without a successful write between them have a common cause, such as a missing right. */
const REFUSED_FOR_ONE_CAUSE = 5;
/** The limit of requests while there is such a cause. */
const ATTEMPTS = { burst: 1, refillMs: 2_000 };
/** Records that are written at the same time: a slow request does not delay the others. */
const CONCURRENCY = 4;
/** After this time, the watches of the other replicas have a record that was written. */
const SPREAD_MS = 2_000;
/** Autoscalers delete many nodes, and most of them never register again. */
export const MAX_DELETED_NODES = 1_000;
/** Nodes that a message names. */
const MAX_NAMED = 5;

export interface RecordStoreOptions {
  readonly client: ApiClient;
  readonly nodeRecords: NodeRecords;
  /** Resolves when all nodes are known. */
  readonly synced: Promise<unknown>;
  readonly policies: Pick<ClusterPolicies, 'snapshot' | 'changes'>;
  readonly reports: Pick<Reports, 'add'>;
  /** Called when the records have been read. */
  onRead(this: void): void;
  /** Called when the record was written. */
  onWritten(this: void, name: string): void;
  /** Called when the other replicas have the record. */
  onSpread(this: void, name: string): void;
  /** Called when another client deleted the record: the present taints of the node are accepted. */
  onDeleted(this: void, name: string): void;
  /** Called when another client created a record, which is adopted. */
  onFound(this: void, name: string): void;
}

/** The desired NodeTaintRecords, which it writes to the API server. */
export interface RecordStore {
  /** Resolves once the first attempt to read the records has ended, or no policy needs them. */
  readonly tried: Promise<void>;
  /**
   * The record of that name, also of a Node that is deleted.
   * @returns undefined while the records have not been read, unless no policy needs them
   */
  find(name: string): { readonly record: NodeRecord | undefined } | undefined;
  names(): Iterable<string>;
  /**
   * Has the record written, also one that was refused before. Does nothing while the records have not been read.
   * @param record undefined for none
   */
  put(name: string, record: NodeRecord | undefined): void;
  /** Puts the progress of the startup taints of a Node into its record. The rest of the record stays. */
  setStartup(name: string, uid: string, machine: Machine, progress: readonly StartupProgress[]): void;
  isWritten(name: string): boolean;
  /** Whether the record is stored as given, and the other replicas have it. Its information about missing taints is not compared. */
  isSpread(name: string, record: NodeRecord | undefined): boolean;
  stop(): Promise<void>;
}

export function startRecordStore(run: Run, options: RecordStoreOptions): RecordStore {
  const { client, nodeRecords, synced, policies, reports } = options;
  const { signal, log } = run;
  const compiled = () => policies.snapshot().compiled.taintPolicies;
  const isAsked = () => compiled().some((policy) => recordsTaints(policy) || policy.untilReady.length > 0);
  /** The desired records, by the names of nodes. Undefined until the stored records have been read. */
  let records: Map<string, NodeRecord> | undefined;
  const { promise: tried, resolve: setTried } = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => setTried(), { once: true });
  /** The records as they were last read or written. */
  let stored = new Map<string, StoredRecord>();
  /** Names of records that the watch saw change, by our write or another one. */
  const stale = new Set<string>();
  /** Why the API server refused records, by name. */
  const refused = new Map<string, ApiError>();
  /** Names of records that were refused after the last one that was written. */
  const refusedInARow = new Set<string>();
  const requests = tokenBucket(REQUESTS.burst, REQUESTS.refillMs);
  const attempts = tokenBucket(ATTEMPTS.burst, ATTEMPTS.refillMs);
  /** Timers of records that were just written: they end the wait for the other replicas. */
  const spreading = new Map<string, NodeJS.Timeout>();
  signal.addEventListener('abort', () => spreading.forEach(clearTimeout), { once: true });
  let unreadable: ApiError | undefined;
  let problem: string | undefined;
  /** Whether records were listed although no policy needs them. */
  let isChecked = false;

  const changes = reports.add({ problems: () => (problem === undefined ? [] : unwrittenRecords(problem)) });
  const keeping = startController(run, 'node-records', maintain, { pauseMs: DEBOUNCE_MS });
  const writing = startControllerQueue(run, 'node-record-writes', { work: reconcile, concurrency: CONCURRENCY });
  policies.changes.subscribe(() => {
    keeping.restart();
    for (const name of refused.keys()) writing.restart(name);
  }, signal);
  nodeRecords.changes.subscribe((name) => {
    if (!records) return;
    if (isAsSeen(name)) return share(name);
    stale.add(name);
    writing.add(name, DEBOUNCE_MS);
  }, signal);

  return {
    tried,
    find(name) {
      if (records) return { record: records.get(name) };
      return isAsked() ? undefined : { record: undefined };
    },
    names: () => [...new Set([...(records?.keys() ?? []), ...stored.keys()])],
    put,
    setStartup(name, uid, machine, progress) {
      const before = records?.get(name);
      const { startup: _, ...known } = before?.uid === uid ? before : { uid, machine, taints: [] };
      if (progress.length > 0) put(name, { ...known, startup: progress });
      else put(name, known.taints.length > 0 ? known : undefined);
    },
    isWritten,
    isSpread(name, record) {
      if (records === undefined || spreading.has(name)) return false;
      const found = stored.get(name)?.record;
      return isDeepStrictEqual(found && withoutMissing(found), record && withoutMissing(record));
    },
    stop: async () => void (await Promise.all([keeping.stop(), writing.stop()])),
  };

  function put(name: string, record: NodeRecord | undefined): void {
    if (!records) return;
    const isSame = isDeepStrictEqual(records.get(name), record);
    if (record === undefined) records.delete(name);
    else if (!isSame) records.set(name, record);
    if (!isSame && record?.deletedAt !== undefined) keeping.trigger();
    if (isWritten(name) && !refused.has(name)) return;
    if (isSame) writing.add(name, DEBOUNCE_MS);
    else writing.restart(name, DEBOUNCE_MS);
  }

  function unwrittenRecords(why: string): ReportedProblem[] {
    const notWritten = ({ kind, name: policy }: CompiledTaintPolicy, effect: string): ReportedProblem => ({
      ...{ kind, policy, reason: 'NodeRecordsNotWritten', message: `${effect}: ${why}` },
    });
    return [
      ...compiled()
        .filter(recordsTaints)
        .map((policy) =>
          notWritten(
            policy,
            policy.deletedNodeRetentionMs === undefined
              ? 'taints that nodes lose while taintkeeper is unavailable are not restored'
              : 'nodes may get nothing back when they are deleted',
          ),
        ),
      ...compiled()
        .filter(({ untilReady }) => untilReady.length > 0)
        .map((policy) => notWritten(policy, 'startup taints are not removed')),
    ];
  }

  /** Versions are compared for equality only: a restored etcd counts them again. */
  function isAsSeen(name: string): boolean {
    return nodeRecords.versionOf(name) === stored.get(name)?.resourceVersion;
  }

  /** Shares one object in memory with the cache of the watch. */
  function share(name: string): void {
    const known = stored.get(name);
    const watched = nodeRecords.recordOf(name);
    if (!known || !watched || !isDeepStrictEqual(known.record, watched)) return;
    stored.set(name, { ...known, record: watched });
    if (isDeepStrictEqual(records?.get(name), watched)) records?.set(name, watched);
  }

  function isWritten(name: string): boolean {
    return isStored(name, records?.get(name));
  }

  function isStored(name: string, record: NodeRecord | undefined): boolean {
    const found = stored.get(name);
    return found ? record !== undefined && isDeepStrictEqual(found.record, record) : record === undefined;
  }

  /** Reads the records once a policy needs them, and keeps their number within its limit. */
  async function maintain(): Promise<undefined> {
    try {
      if (!records && !isAsked() && isChecked) return;
      await synced;
      if (!records && !isAsked() && !(await hasWaiting())) return;
      if (!records) {
        records = await begin();
        unreadable = undefined;
        setTried();
        options.onRead();
      }
      forgetOldest(records);
    } catch (error) {
      if (isFinal(error)) unreadable = error;
      throw error;
    } finally {
      setTried();
      report();
    }
  }

  /** Whether nodes wait although no policy asks for records: the policy may have been deleted while there was no leader. */
  async function hasWaiting(): Promise<boolean> {
    try {
      const found = await listRecords(client);
      isChecked = true;
      return [...found.values()].some(({ record }) => record?.startup?.some((one) => !isOver(one)));
    } catch (error) {
      // Without the CustomResourceDefinition, there are no records.
      if (!isNotServed(error) && !isForbidden(error)) throw error;
      isChecked = true;
      return false;
    }
  }

  /** Reads what an earlier leader wrote, which this replica's watch may not have seen yet. */
  async function begin(): Promise<Map<string, NodeRecord>> {
    stored = await listRecords(client);
    nodeRecords.follow();
    for (const name of stored.keys()) if (isAsSeen(name)) share(name);
    return new Map([...stored].flatMap(([name, { record }]) => (record ? [[name, record]] : [])));
  }

  /** Writes the record if it differs from the stored one. */
  async function reconcile(name: string): Promise<number | undefined> {
    if (!records) return undefined;
    try {
      if (stale.delete(name)) {
        if (isAsSeen(name)) share(name);
        else await lookUp(records, name);
      }
      const isExpected = isWritten(name) || (await write(records, name));
      refused.delete(name);
      if (!isExpected) await lookUp(records, name);
      if (isWritten(name)) return undefined;
      // Another write is needed if the record changed during this one.
      return isExpected ? DEBOUNCE_MS : CONFLICT_PAUSE_MS;
    } catch (error) {
      stale.add(name);
      if (isFinal(error)) {
        // The first of equal refusals: each of them may have a request id of its own.
        if (refused.get(name)?.status !== error.status) refused.set(name, error);
        refusedInARow.add(name);
      }
      throw error;
    } finally {
      report();
    }
  }

  /** Reads a record that another client has written. Its change of a known record will be overwritten. */
  async function lookUp(known: Map<string, NodeRecord>, name: string): Promise<void> {
    await turn();
    const found = await getRecord(client, name);
    if (found === undefined) {
      if (stored.delete(name)) {
        known.delete(name);
        options.onDeleted(name);
      }
    } else {
      stored.set(name, found);
      if (found.record && !known.has(name)) {
        known.set(name, found.record);
        options.onFound(name);
      }
    }
  }

  /**
   * @returns false if the API server has another version than expected
   * @throws ApiError
   */
  async function write(known: Map<string, NodeRecord>, name: string): Promise<boolean> {
    await turn();
    if (isWritten(name)) return true;
    const record = known.get(name);
    const before = stored.get(name);
    if (record) {
      const after = await writeRecord(client, name, record, before);
      if (!after) return false;
      stored.set(name, after);
    } else if (before) {
      if (!(await removeRecord(client, name, before))) return false;
      stored.delete(name);
    }
    refusedInARow.clear();
    options.onWritten(name);
    spread(name);
    return true;
  }

  function forgetOldest(known: Map<string, NodeRecord>): void {
    const deleted = [...known].flatMap(([name, { deletedAt }]) => (deletedAt === undefined ? [] : { name, deletedAt }));
    if (deleted.length <= MAX_DELETED_NODES) return;
    const forgotten = deleted.toSorted((a, b) => b.deletedAt - a.deletedAt).slice(MAX_DELETED_NODES);
    for (const { name } of forgotten) {
      known.delete(name);
      writing.restart(name);
    }
    log.info(`forgot ${forgotten.length} deleted nodes, the oldest: records of ${MAX_DELETED_NODES} are kept`);
  }

  function spread(name: string): void {
    // A write may end after the end of the run.
    if (signal.aborted) return;
    clearTimeout(spreading.get(name));
    const timer = setTimeout(() => {
      spreading.delete(name);
      options.onSpread(name);
    }, SPREAD_MS);
    spreading.set(name, timer);
  }

  function turn(): Promise<void> {
    return takeTurn(() => (refusedInARow.size < REFUSED_FOR_ONE_CAUSE ? requests : attempts), signal);
  }

  function report(): void {
    const before = problem;
    const error = refused.values().next().value ?? unreadable;
    problem = error && problemOf(error, [...refused.keys()]);
    if (problem !== before) changes.next();
  }
}

/** @param names of the records that the API server refuses; none if the problem concerns all records */
function problemOf(error: ApiError, names: readonly string[] = []): string {
  const { message } = error;
  if (isNotServed(error)) {
    return `the API server does not serve ${NODE_RECORDS}: install the CustomResourceDefinition ${NODE_RECORDS}.taintkeeper.dev (${message})`;
  }
  if (names.length === 0) return message;
  const others = names.length > MAX_NAMED ? ' and others' : '';
  return `the API server refuses the records of ${names.slice(0, MAX_NAMED).join(', ')}${others}: ${message}`;
}
