import { isDeepStrictEqual } from 'node:util';
import { isFinal } from '../../cluster/client/api-error.ts';
import { NODE_RECORDS, type StoredRecords } from '../../cluster/node-records.ts';
import type { ClusterPolicies } from '../../cluster/policies.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { type NodeRecord, owedTaints, recordOf } from '../../judge/node-return.ts';
import type { OwedTaint } from '../../judge/node-view.ts';
import { type MachineMarks, UNKNOWN_MACHINE } from '../../kubernetes/machine.ts';
import { identity, valuesOf } from '../../kubernetes/taint.ts';
import { atMost, mark } from '../../kubernetes/text.ts';
import { fitRecords, parseRecord } from '../../objects/node-record.ts';
import { type LeaderContext, startController } from '../context.ts';
import { type ClusterNode, isNews } from '../sources.ts';
import { eventsOfReturn } from './node-reports.ts';

/** All records are looked at again, for those whose time is over. */
const SWEEP_MS = 600_000;
/** Records that are looked at before others get a turn. */
const SWEEP_SLICE = 200;
/** Changes that come together are one write. */
const SETTLE_MS = 200;
/** Each write has the API server store the whole object, and tell every replica of it: so many bytes a millisecond, 100 KB a second. */
const BYTES_PER_MS = 100;
/** Somebody else writes it as well. */
const CONFLICT_PAUSE_MS = 500;
/** What no policy wants is kept for so long after policies have changed: they are deleted and created anew. */
const FORGET_MS = 3_600_000;
/** Nodes and entries that a message names. */
const MAX_NAMED = 5;

type NodeEntry = Pick<Entry<ClusterNode>, 'name' | 'uid' | 'value'>;

export type NodeRecordsContext = Pick<
  LeaderContext,
  'client' | 'nodeRecords' | 'namespace' | 'synced' | 'nodes' | 'record' | 'reports' | 'metrics' | 'log' | 'signal'
> & { readonly policies: Pick<ClusterPolicies, 'snapshot' | 'isComplete' | 'changes'> };

/** What nodes are owed that came back while nobody was asked. */
export interface NodeReturns {
  owedTo(node: NodeEntry): OwedTaint[];
  /** The node has what it was owed, or remembers it, or it went with leave. */
  paid(node: NodeEntry, owed: readonly OwedTaint[]): void;
  stop(): Promise<void>;
}

/**
 * Keeps what nodes carry in a ConfigMap, while policies ask for that: also of nodes that are there, because a kubelet may register its
 * node anew before anybody has seen that it was deleted, or while nobody leads.
 *
 * @param onOwed called with the name of a node that is owed something
 */
export function startNodeRecords(context: NodeRecordsContext, onOwed: (name: string) => void): NodeReturns {
  const { client, nodeRecords: store, namespace, synced, nodes, policies, reports, log, signal } = context;
  const compiled = () => policies.snapshot().compiled.taintPolicies;
  const surviving = () => compiled().filter(({ deletedNodeRetentionMs }) => deletedNodeRetentionMs !== undefined);
  /** By the names of nodes; undefined until they have been read. */
  let records: Map<string, NodeRecord> | undefined;
  let seen: StoredRecords | undefined;
  let policiesSince = performance.now();
  let sweepAt = 0;
  let notBefore = 0;
  let homeless: readonly string[] = [];
  let unreadable: readonly string[] = [];
  let refusal: string | undefined;

  const changed = reports.add({
    troubles() {
      const where = `ConfigMap ${namespace}/${NODE_RECORDS}`;
      const full = `${where} is full: if they are deleted, these nodes may get nothing back: ${atMost(MAX_NAMED, homeless).join(', ')}`;
      const refused = `what nodes carry is not kept in ${where}: ${refusal}`;
      return surviving().flatMap(({ kind, name: policy }) => [
        ...(refusal === undefined ? [] : [{ kind, policy, reason: 'NodeRecordsRefused', message: refused }]),
        ...(homeless.length === 0 ? [] : [{ kind, policy, reason: 'NodeRecordsFull', message: full }]),
      ]);
    },
  });
  const writing = startController(context, 'node-records', reconcile, { pauseMs: SETTLE_MS });
  nodes.changes.subscribe((change) => {
    if (records && isNews(change)) take(records, change.entry.name);
  }, signal);
  policies.changes.subscribe(() => {
    policiesSince = performance.now();
    sweepAt = 0;
    writing.trigger();
  }, signal);
  store.changes.subscribe(() => writing.trigger(), signal);

  return {
    owedTo({ name, uid, value }) {
      const record = records?.get(name);
      if (!record?.owed || record.uid !== mark(uid)) return [];
      const { labels } = value;
      return owedTaints({ ...record, taints: [] }, { labels, machine: record.machine }, compiled(), now());
    },
    paid({ name }, owed) {
      const record = records?.get(name);
      const over = new Set(owed.filter(({ policy }) => policy.mode !== 'Audit').map(({ taint }) => identity(taint)));
      if (!records || !record?.owed || over.size === 0) return;
      const { owed: debt, ...rest } = record;
      const taints = debt.taints.filter((taint) => !over.has(identity(taint)));
      records.set(name, taints.length > 0 ? { ...rest, owed: { ...debt, taints } } : rest);
      take(records, name);
      writing.trigger();
    },
    stop: writing.stop,
  };

  function now(): number {
    return client.now().getTime();
  }

  /** Brings the record of a name up to date with the node of that name, if there is one. */
  function take(known: Map<string, NodeRecord>, name: string): void {
    const before = known.get(name);
    const entry = nodes.get(name);
    const node = entry && { ...entry.value, uid: entry.uid, machine: machineIn(entry) };
    const forgets = policies.isComplete('TaintPolicy') && performance.now() - policiesSince >= FORGET_MS;
    const after = recordOf(before, node, { policies: compiled(), now: now(), forgets });
    if (before && entry && before.uid !== mark(entry.uid)) tell(before, entry);
    if (after) known.set(name, after);
    else known.delete(name);
    if (after?.owed) onOwed(name);
    if (!isDeepStrictEqual(before, after)) writing.trigger();
  }

  /** Says what a node that registered anew has of what it carried before. */
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
    if (!records && surviving().length === 0) return undefined;
    await synced;
    try {
      records ??= await begin();
      if (store.stored() !== seen) merge(records);
      if (performance.now() >= sweepAt) await sweep(records);
      const waitMs = notBefore - performance.now();
      if (waitMs > 0) return waitMs;
      const isWritten = await write(records);
      refused(undefined);
      if (isWritten) return SWEEP_MS;
      await store.read(client);
      return CONFLICT_PAUSE_MS;
    } catch (error) {
      if (isFinal(error)) refused(error.message);
      throw error;
    }
  }

  /** What an earlier leader has kept. Who follows may be a moment behind what that one wrote last. */
  async function begin(): Promise<Map<string, NodeRecord>> {
    seen = await store.read(client);
    store.follow();
    return new Map([...seen.texts].flatMap(([name, text]) => entryOf(name, text)));
  }

  /** Takes what somebody else wrote: an entry that is gone is forgotten where its node is gone as well; the others are written again. */
  function merge(known: Map<string, NodeRecord>): void {
    const { texts } = store.stored();
    for (const name of seen?.texts.keys() ?? []) {
      if (!texts.has(name) && known.get(name)?.deletedAt !== undefined) known.delete(name);
    }
    for (const [name, text] of texts) {
      if (known.has(name)) continue;
      for (const [, found] of entryOf(name, text)) known.set(name, found);
      take(known, name);
    }
    seen = store.stored();
  }

  async function sweep(known: Map<string, NodeRecord>): Promise<void> {
    // Policies that change meanwhile are for the next one.
    sweepAt = performance.now() + SWEEP_MS;
    const names = Array.from(nodes.entries(), ({ name }) => name);
    let count = 0;
    for (const name of new Set([...names, ...known.keys()])) {
      take(known, name);
      if (++count % SWEEP_SLICE === 0) await new Promise(setImmediate);
    }
  }

  /** False when somebody else was first. */
  async function write(known: Map<string, NodeRecord>): Promise<boolean> {
    const { texts: stored } = store.stored();
    const foreign = new Map([...stored].filter(([name, text]) => !known.has(name) && parseRecord(text) === undefined));
    const { texts, left } = fitRecords(known, stored, foreign);
    const changes = new Map<string, string | null>([...texts].filter(([name, text]) => stored.get(name) !== text));
    for (const name of stored.keys()) if (!texts.has(name) && !foreign.has(name)) changes.set(name, null);
    for (const name of left.deleted) known.delete(name);
    report([...foreign.keys()], left);
    if (changes.size === 0) return true;
    if (!(await store.write(client, changes))) return false;
    seen = store.stored();
    const bytes = [...seen.texts].reduce((sum, [name, text]) => sum + name.length + text.length, 0);
    notBefore = performance.now() + bytes / BYTES_PER_MS;
    return true;
  }

  function report(foreign: readonly string[], left: ReturnType<typeof fitRecords>['left']): void {
    const where = `ConfigMap ${namespace}/${NODE_RECORDS}`;
    if (foreign.length > 0 && foreign.join() !== unreadable.join()) {
      log.warn(`${where}: left as they are, because they are no records: ${atMost(MAX_NAMED, foreign).join(', ')}`);
    }
    unreadable = foreign;
    if (left.deleted.length > 0) {
      log.warn(`${where} is full: forgot ${left.deleted.length} nodes, those that were deleted longest ago`);
    }
    if (left.present.join() === homeless.join()) return;
    homeless = left.present;
    changed();
  }

  function refused(message: string | undefined): void {
    if (refusal === message) return;
    refusal = message;
    changed();
  }
}

function machineIn({ value }: NodeEntry): MachineMarks {
  return value.machine ?? UNKNOWN_MACHINE;
}

function entryOf(name: string, text: string): [string, NodeRecord][] {
  const found = parseRecord(text);
  return found ? [[name, found]] : [];
}
