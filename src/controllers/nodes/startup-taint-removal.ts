import { isDeepStrictEqual } from 'node:util';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isFinal } from '../../cluster/client/api-error.ts';
import type { ClusterDaemonSet, ClusterNode } from '../../cluster/cluster-objects.ts';
import type { ClusterPolicies } from '../../cluster/policies.ts';
import { listReplicas } from '../../cluster/replica-pods.ts';
import type { ServiceRef } from '../../cluster/service-endpoint.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import { startupBlockers } from '../../coverage/daemon-readiness.ts';
import type { ReplicaPod } from '../../coverage/placement.ts';
import { startupIn } from '../../judge/node-record.ts';
import { startupFaults } from '../../judge/startup-faults.ts';
import {
  daemonSetName,
  POLICY_GONE_MS,
  type StartupStep,
  startupStep,
  type WaitingTaint,
  waitingText,
} from '../../judge/startup-progress.ts';
import type { RecordedEvent } from '../../kubernetes/event.ts';
import { UNKNOWN_MACHINE } from '../../kubernetes/machine.ts';
import { formatTaint, identity, removedTaints } from '../../kubernetes/taint.ts';
import { shorten } from '../../kubernetes/text.ts';
import type { Source } from '../../runtime/source.ts';
import { CONFLICT_PAUSE_MS, type Run, startController, startControllerQueue } from '../controller.ts';
import { type Concern, problemsOf, type ReportedProblem, type Reports } from '../reports.ts';
import type { Rights } from '../rights.ts';
import type { Nodes, WatchedDaemonSets } from '../sources.ts';
import type { NodeWrite, NodeWriter } from './node-writer.ts';
import type { RecordStore } from './record-store.ts';
import { trackRefusals } from './refusals.ts';
import { reportOnNode } from './report-on-node.ts';
import { watchStartupPods } from './startup-pods.ts';

export interface StartupTaintRemovalOptions {
  readonly client: ApiClient;
  readonly writer: NodeWriter;
  /** The Service whose pods are the replicas. */
  readonly service: ServiceRef;
  /** Resolves when all nodes and DaemonSets are known. */
  readonly synced: Promise<unknown>;
  readonly nodes: Nodes;
  readonly daemonSets: WatchedDaemonSets;
  readonly policies: Pick<ClusterPolicies, 'snapshot' | 'isComplete' | 'changes'>;
  readonly rights: Rights;
  readonly recordEvent: (event: RecordedEvent) => void;
  readonly reports: Pick<Reports, 'add'>;
  readonly records: Pick<RecordStore, 'find' | 'isWritten' | 'setStartup'>;
}

const NAME = 'startup-progress';
/** A check takes time only if it patches the node. */
const CONCURRENCY = 4;
/** Changes of a DaemonSet within this time lead to one check of the nodes that wait for it. */
const DEBOUNCE_MS = 200;
/** No event reports that a user deleted the record while the node waits. A check makes no request. */
const CHECK_AGAIN_MS = 30_000;
/** The tolerations of the replicas are read at this interval while a policy has a startup taint. */
const REPLICAS_MS = 60_000;
/** The most characters for one node in a condition: names of DaemonSets and their node affinity may be long. */
const MAX_NODE_TEXT = 600;

type NodeEntry = Entry<ClusterNode>;
type DaemonSetEntry = Entry<ClusterDaemonSet>;

/** A node whose startup taints wait. */
interface Case {
  readonly uid: string;
  waiting: readonly WaitingTaint[];
  /** By the identity of the taint: since when no policy has required it, by the monotonic clock. */
  readonly unrequiredSince: Map<string, number>;
  /** The identities of taints that were reported as overdue. */
  readonly reported: Set<string>;
}

/** Removes startup taints once the DaemonSets of their policies are ready, and sets those that the webhook could not set. */
export interface StartupTaintRemoval {
  /** Asks for a check of a node, also of one that was deleted. */
  check(name: string): void;
  /** What the startup taints of the node wait for, in words. */
  startupOn(node: string): string | undefined;
  /** Emits when the answer of {@link startupOn} may have changed. */
  readonly changes: Source;
  stop(): Promise<void>;
}

export function startStartupTaintRemoval(run: Run, options: StartupTaintRemovalOptions): StartupTaintRemoval {
  const { client, writer, service, synced, nodes, daemonSets, policies, rights } = options;
  const { recordEvent, reports, records } = options;
  const { signal } = run;
  const report = reportOnNode(recordEvent, run.log);
  const compiled = () => policies.snapshot().compiled.taintPolicies;
  const cases = new Map<string, Case>();
  let replicas: readonly ReplicaPod[] = [];

  const queue = startControllerQueue(run, NAME, { work: check, concurrency: CONCURRENCY });
  const changes = reports.add({ problems });
  const refusals = trackRefusals(() => changes.next());
  const reading = startController(run, 'startup-replicas', readReplicas);
  const pods = watchStartupPods(run, client, daemonSets, (node) => {
    for (const name of node === undefined ? cases.keys() : [node]) if (cases.has(name)) queue.add(name);
  });
  policies.changes.subscribe(() => reading.restart(), signal);
  daemonSets.changes.subscribe((change) => {
    // Its status changes with each of its pods.
    if (change.type === 'modified' && isSameDaemonSet(change.entry, change.previous)) return;
    retainPods();
    const name = daemonSetName(change.entry);
    for (const [node, { waiting }] of cases) {
      const isAwaited = waiting.some(({ requirement }) =>
        requirement.daemonSets.some((one) => daemonSetName(one) === name),
      );
      if (isAwaited) queue.add(node, DEBOUNCE_MS);
    }
  }, signal);
  for (const source of [policies.changes, rights.changes]) {
    source.subscribe(() => {
      retainPods();
      for (const name of cases.keys()) queue.restart(name);
    }, signal);
  }

  return {
    check: (name) => queue.add(name),
    startupOn: (name) => textOf(cases.get(name)),
    changes,
    stop: async () => void (await Promise.all([queue.stop(), reading.stop(), pods.stop()])),
  };

  async function check(name: string): Promise<number | undefined> {
    const entry = nodes.get(name);
    const known = records.find(name);
    if (!entry || !known) {
      forget(name);
      return undefined;
    }
    // The record of an earlier Node of that name may list taints for this one. Node repair replaces it, and then asks for a check.
    if (known.record && known.record.uid !== entry.uid) return undefined;
    // The watch will show the newer version.
    if (writer.isOutdated(entry)) return undefined;
    const found = caseOf(entry);
    const node = viewOf(entry);
    const step = startupStep(node, known.record, compiled(), {
      blockers({ daemonSets: awaited }) {
        const found = rights.permits('listPods') ? pods.on(name, awaited) : undefined;
        return found && startupBlockers(awaited, node, found, (one) => daemonSets.get(one.name, one.namespace));
      },
      unrequiredForMs: (one) => unrequiredForMs(found, identity(one)),
      now: client.now().getTime(),
    });
    const unrequired = new Set(step.unrequired.map(identity));
    for (const key of found.unrequiredSince.keys()) if (!unrequired.has(key)) found.unrequiredSince.delete(key);
    if (!isDeepStrictEqual(step.progress, startupIn(known.record, entry.uid))) {
      records.setStartup(name, entry.uid, entry.value.machine ?? UNKNOWN_MACHINE, step.progress);
    }
    for (const { taint } of step.missed) {
      const note = `registered without startup taint ${formatTaint(taint)}, and pods may have been scheduled since: taintkeeper does not add the taint`;
      report(entry, { type: 'Warning', reason: 'StartupTaintMissed', action: 'StartupTaint', note });
    }
    reportOverdue(entry, found, step.waiting);
    const before = overdueOn(name, found);
    const text = textOf(found);
    found.waiting = step.waiting;
    if (textOf(found) !== text || !isDeepStrictEqual(overdueOn(name, found), before)) changes.next();
    // The record is written first: a leader that finds the taint and no record would begin again.
    const removable = records.isWritten(name) ? step.removable : [];
    if ((await write(entry, { late: step.late, removable })) === 'Outdated') return CONFLICT_PAUSE_MS;
    const isWaiting = step.waiting.length > 0 || found.unrequiredSince.size > 0;
    if (!isWaiting && step.removable.length === 0) {
      forget(name);
      return undefined;
    }
    const untilUnrequired = [...found.unrequiredSince.values()].map((since) =>
      Math.max(1, since + POLICY_GONE_MS - performance.now()),
    );
    const untilOverdue = step.waiting.flatMap(({ requirement, forMs, isOverdue }) =>
      isOverdue ? [] : [requirement.progressDeadlineMs - forMs + 1],
    );
    return Math.min(...untilUnrequired, ...untilOverdue, CHECK_AGAIN_MS);
  }

  function caseOf({ name, uid }: NodeEntry): Case {
    const known = cases.get(name);
    if (known?.uid === uid) return known;
    const begun: Case = {
      uid,
      waiting: [],
      unrequiredSince: new Map(),
      reported: new Set(),
    };
    cases.set(name, begun);
    return begun;
  }

  function forget(name: string): void {
    const text = textOf(cases.get(name));
    cases.delete(name);
    refusals.delete(name);
    if (text !== undefined) changes.next();
  }

  function retainPods(): void {
    const named = compiled().flatMap(({ untilReady }) => untilReady.flatMap(({ value }) => value.daemonSets));
    pods.retain(named.length > 0 && rights.permits('listPods') ? named : []);
  }

  /** A policy may be replaced, and a policy that could not be read may require the taint. */
  function unrequiredForMs({ unrequiredSince }: Case, key: string): number {
    const now = performance.now();
    if (!policies.isComplete('TaintPolicy')) {
      unrequiredSince.set(key, now);
      return 0;
    }
    const since = unrequiredSince.get(key) ?? now;
    unrequiredSince.set(key, since);
    return now - since;
  }

  async function write(
    entry: NodeEntry,
    { late, removable }: Pick<StartupStep, 'late' | 'removable'>,
  ): Promise<NodeWrite | undefined> {
    if (late.length + removable.length === 0) return undefined;
    const { name, value } = entry;
    const removed = new Set(removable.map(({ recorded }) => identity(recorded)));
    const added = late.map(({ taint }) => taint);
    const taints = [...value.taints.filter((taint) => !removed.has(identity(taint))), ...added];
    const by = [
      ...late.flatMap(({ policies: names }) => names),
      ...removable.flatMap(({ recorded }) => recorded.policies),
    ];
    try {
      const result = await writer.write(entry, { taints, allowRemoval: value.allowRemoval }, (stored) => {
        const undone = [...stored.filter((taint) => removed.has(identity(taint))), ...removedTaints(added, stored)];
        if (undone.length === 0) return;
        throw new Error(
          `a mutating webhook undoes the change of startup taint ${undone.map(formatTaint).join(', ')}; to list the webhooks: kubectl get mutatingwebhookconfigurations`,
        );
      });
      refusals.delete(name);
      if (result !== 'Written') return result;
    } catch (error) {
      if (isFinal(error)) refusals.set(name, by, error);
      throw error;
    }
    for (const taint of added) {
      const note = `added startup taint ${formatTaint(taint)}, without which the node registered, while the node is not ready`;
      report(entry, { type: 'Normal', reason: 'StartupTaintAdded', action: 'StartupTaint', note });
    }
    for (const { recorded, reason } of removable) {
      const { key, effect } = recorded;
      const note = `removed startup taint ${formatTaint({ key, effect })}: ${reason}`;
      report(entry, { type: 'Normal', reason: 'StartupTaintRemoved', action: 'StartupTaint', note });
    }
    return 'Written';
  }

  function reportOverdue(entry: NodeEntry, { reported }: Case, waiting: readonly WaitingTaint[]): void {
    for (const one of waiting) {
      const { taint, progressDeadlineMs } = one.requirement;
      if (!one.isOverdue || reported.has(identity(taint))) continue;
      reported.add(identity(taint));
      const note = `${waitingText(one)}; the progress deadline of ${progressDeadlineMs / 1000} s has passed`;
      report(entry, { type: 'Warning', reason: 'StartupTaintDeadlineExceeded', action: 'StartupTaint', note });
    }
  }

  async function readReplicas(): Promise<number | undefined> {
    if (compiled().every(({ untilReady }) => untilReady.length === 0)) return undefined;
    await synced;
    replicas = await listReplicas(client, service);
    changes.next();
    return REPLICAS_MS;
  }

  function problems(): readonly ReportedProblem[] {
    const all = compiled();
    const faults = all.flatMap((policy) =>
      startupFaults(policy, {
        others: all.filter((other) => other !== policy),
        daemonSetOf: ({ namespace, name }) => daemonSets.get(name, namespace)?.value,
        replicas,
      }).map((fault): ReportedProblem => ({ kind: policy.kind, policy: policy.name, ...fault })),
    );
    const writes = problemsOf(
      refusals.concerns((node, message) => shorten(`on node ${node}, ${message}`, MAX_NODE_TEXT)),
      'StartupTaintRefused',
      (texts) => `the API server refuses the changes of startup taints: ${texts.join('; ')}`,
    );
    const overdue = problemsOf(
      [...cases].flatMap(([name, found]) => overdueOn(name, found)),
      'StartupTaintDeadlineExceeded',
      (texts) => `the progress deadline of startup taints has passed: ${texts.join('; ')}`,
    );
    return [...faults, ...writes, ...overdue];
  }
}

function viewOf({ value, uid }: NodeEntry) {
  return { ...value, uid, createdAt: value.createdAt ?? 0 };
}

/** Whether the pods of the DaemonSet run on the same nodes as before. */
function isSameDaemonSet({ uid, value }: DaemonSetEntry, before: DaemonSetEntry): boolean {
  return uid === before.uid && value.generation === before.value.generation && value.deleting === before.value.deleting;
}

function textOf(found: Case | undefined): string | undefined {
  return found === undefined || found.waiting.length === 0 ? undefined : found.waiting.map(waitingText).join('; ');
}

/**
 * The startup taints of a node that wait past the progress deadline. The policies are `Stalled` then, as a Deployment whose progress deadline
 * is exceeded: kstatus counts that as `Stalled`, too (sigs.k8s.io/cli-utils: pkg/kstatus/status/core.go).
 */
function overdueOn(name: string, { waiting }: Case): Concern[] {
  return waiting
    .filter(({ isOverdue }) => isOverdue)
    .map((one) => ({
      policies: one.requirement.policies,
      text: shorten(`on node ${name}, ${waitingText(one)}`, MAX_NODE_TEXT),
    }));
}
