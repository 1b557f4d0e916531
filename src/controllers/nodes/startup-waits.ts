import { isDeepStrictEqual } from 'node:util';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { ApiError } from '../../cluster/client/api-error.ts';
import type { ClusterDaemonSet, ClusterNode } from '../../cluster/cluster-objects.ts';
import type { ClusterPolicies } from '../../cluster/policies.ts';
import { listReplicas } from '../../cluster/replica-pods.ts';
import type { ServiceRef } from '../../cluster/service-endpoint.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import type { ReplicaPod } from '../../coverage/placement.ts';
import { type StartupSources, startupBlockers } from '../../coverage/startup-readiness.ts';
import type { StoredNode } from '../../judge/node-view.ts';
import { startupFaults } from '../../judge/policy/startup-faults.ts';
import type { Found } from '../../judge/startup/blocker.ts';
import {
  overdueAdvice,
  type StartupFacts,
  type StartupStep,
  type WaitingTaint,
  waitingText,
} from '../../judge/startup/startup-step.ts';
import type { RecordedEvent } from '../../kubernetes/event.ts';
import { formatTaint, identity, sameTaint, type Taint, taintsOnlyIn } from '../../kubernetes/taint.ts';
import { shorten } from '../../kubernetes/text.ts';
import type { OptionalRight } from '../../policy/asked-rights.ts';
import { isAmong, type ReadyDaemonSet } from '../../policy/ready-when.ts';
import { type Controller, type Run, startController } from '../controller.ts';
import { type Concern, problemsOf, type ReportedProblem } from '../reports.ts';
import type { Rights } from '../rights.ts';
import type { Reading, WatchedDaemonSets } from '../sources.ts';
import { watchCsiNodes } from './csi-nodes.ts';
import { trackRefusals } from './refusals.ts';
import { reportOnNode } from './report-on-node.ts';
import { watchStartupPods } from './startup-pods.ts';

export interface StartupWaitsOptions {
  readonly client: ApiClient;
  /** The Service whose pods are the replicas. */
  readonly service: ServiceRef;
  readonly daemonSets: WatchedDaemonSets & Pick<Reading, 'synced' | 'isSynced'>;
  readonly policies: Pick<ClusterPolicies, 'snapshot' | 'changes'>;
  readonly rights: Rights;
  readonly recordEvent: (event: RecordedEvent) => void;
  /** Asks for a check of the node, after some milliseconds. */
  readonly check: (node: string, afterMs?: number) => void;
  /** Called when the answers may have changed. */
  readonly onChange: () => void;
}

/** Changes of a DaemonSet within this time lead to one check of the nodes that wait for it. */
const DEBOUNCE_MS = 200;
/** The tolerations of the replicas are read at this interval while a policy has a startup taint. */
const REPLICAS_MS = 60_000;
/** The most characters for one node in a condition: names of DaemonSets and their node affinity may be long. */
const MAX_NODE_TEXT = 600;

type NodeEntry = Entry<ClusterNode>;
type StartupChanges = Pick<StartupStep, 'late' | 'again' | 'removable'>;

/** A node whose startup taints wait. */
interface Wait {
  readonly uid: string;
  readonly waiting: readonly WaitingTaint[];
  /** The identities of taints that were reported as overdue. */
  readonly reported: ReadonlySet<string>;
}

/** The nodes that wait with startup taints: what they wait for, and who is told. */
export interface StartupWaits extends Controller {
  /** What a taint of the node waits for: see {@link StartupFacts}. */
  blockersOn(node: StoredNode): StartupFacts['blockers'];
  /** Ends what is read for the node alone, if its last step has not asked {@link blockersOn}. */
  settled(node: string): void;
  /** Notes what the node waits for now, and reports taints that are overdue. */
  observe(entry: NodeEntry, step: StartupStep): void;
  forget(node: string): void;
  /** Reports changes that were written. */
  written(entry: NodeEntry, changes: StartupChanges): void;
  /** The API server refused such changes, or did not store them. */
  refused(node: string, changes: StartupChanges, error: Pick<ApiError, 'status' | 'reason' | 'message'>): void;
  notRefused(node: string): void;
  /** What the startup taints of the node wait for, in words. */
  startupOn(node: string): string | undefined;
  problems(): readonly ReportedProblem[];
}

export function startStartupWaits(run: Run, options: StartupWaitsOptions): StartupWaits {
  const { client, service, daemonSets, policies, rights, recordEvent, check, onChange } = options;
  const { signal } = run;
  const report = reportOnNode(recordEvent, run.log);
  const compiled = () => policies.snapshot().compiled.taintPolicies;
  const waits = new Map<string, Wait>();
  /** The nodes whose last step asked what a taint waits for. One that may get a taint late does not wait yet. */
  const asking = new Set<string>();
  let replicas: readonly ReplicaPod[] = [];
  const refusals = trackRefusals(onChange);
  const readingReplicas = startController(run, 'startup-replicas', readReplicas);
  const pods = watchStartupPods(run, client, daemonSets, (node) => {
    for (const name of node === undefined ? [...asking] : [node]) if (asking.has(name)) check(name);
  });
  const csiNodes = watchCsiNodes(run, client, (node) => {
    if (asking.has(node)) check(node);
  });
  daemonSets.synced.then(
    () => {
      retainPods();
      for (const name of [...asking]) check(name);
    },
    () => {},
  );
  policies.changes.subscribe(() => {
    retainPods();
    readingReplicas.restart();
  }, signal);
  rights.changes.subscribe(() => {
    retainPods();
    for (const name of [...asking]) check(name);
  }, signal);
  daemonSets.changes.subscribe((change) => {
    // Its status changes with each of its pods.
    if (change.type === 'modified' && isSameDaemonSet(change.entry, change.previous)) return;
    retainPods();
    if (isAwaited(change.entry)) for (const node of asking) check(node, DEBOUNCE_MS);
  }, signal);

  return {
    blockersOn(node) {
      asking.delete(node.name);
      return ({ parts }, startup) => {
        asking.add(node.name);
        return startupBlockers(parts, node, sourcesOf(node), startup);
      };
    },
    observe,
    settled(node) {
      if (!asking.has(node)) endReading(node);
    },
    forget(node) {
      refusals.delete(node);
      asking.delete(node);
      endReading(node);
      if (waits.delete(node)) onChange();
    },
    written(entry, { late, again, removable }) {
      for (const { taint } of late) {
        const note = `added startup taint ${formatTaint(taint)}, without which the node registered, while the node is not ready`;
        report(entry, { type: 'Normal', reason: 'TaintAdded', action: 'StartupTaint', note });
      }
      for (const { taint } of again) {
        const note = `added startup taint ${formatTaint(taint)} again: the node has rebooted`;
        report(entry, { type: 'Normal', reason: 'TaintAdded', action: 'StartupTaint', note });
      }
      for (const { taint, reason, isOverdue } of removable) {
        const note = `removed startup taint ${formatTaint(taint)}: ${reason}`;
        const type = isOverdue ? 'Warning' : 'Normal';
        report(entry, { type, reason: 'StartupTaintRemoved', action: 'StartupTaint', note });
      }
    },
    refused(node, { late, again, removable }, error) {
      refusals.set(
        node,
        [...late, ...again, ...removable].flatMap(({ policies: names }) => names),
        error,
      );
    },
    notRefused: refusals.delete,
    startupOn: (node) => textOf(waits.get(node)?.waiting ?? []),
    problems,
    stop: async () => void (await Promise.all([readingReplicas.stop(), pods.stop(), csiNodes.stop()])),
  };

  function sourcesOf(node: StoredNode): StartupSources {
    return {
      daemonSets: () =>
        daemonSets.isSynced()
          ? { value: { get: (one) => daemonSets.get(one.name, one.namespace), all: daemonSets.entries } }
          : 'Unread',
      pods: (awaited) => reading('listPods', pods, () => pods.on(node, awaited)),
      csiNode: () => reading('listCsiNodes', csiNodes, () => csiNodes.on(node.name)),
    };

    /** Without the right, a watch would fail again and again. */
    function reading<T>(right: OptionalRight, watches: { end(node: string): void }, read: () => Found<T>): Found<T> {
      const isPermitted = rights.permits(right);
      if (isPermitted) return read();
      watches.end(node.name);
      return isPermitted === false ? 'Refused' : 'Unread';
    }
  }

  function observe(entry: NodeEntry, { waiting }: StartupStep): void {
    const { name, uid } = entry;
    const known = waits.get(name);
    const before = known?.uid === uid ? known : undefined;
    const reported = new Set(before?.reported);
    for (const one of waiting) {
      const { taint, progressDeadlineMs } = one.requirement;
      if (!one.isOverdue || reported.has(identity(taint))) continue;
      reported.add(identity(taint));
      const note = [
        waitingText(one),
        `the progress deadline of ${progressDeadlineMs / 1000} s has passed`,
        ...overdueAdvice(one.requirement),
      ].join('; ');
      report(entry, { type: 'Warning', reason: 'StartupTaintRemains', action: 'StartupTaint', note });
    }
    if (waiting.length === 0) waits.delete(name);
    else waits.set(name, { uid, waiting, reported });
    const shown = (list: readonly WaitingTaint[]) => [textOf(list), overdueOn(name, list)];
    if (!isDeepStrictEqual(shown(known?.waiting ?? []), shown(waiting))) onChange();
  }

  function endReading(node: string): void {
    pods.end(node);
    csiNodes.end(node);
  }

  /** Whether a startup taint may wait for the DaemonSet. */
  function isAwaited({ namespace, name }: ReadyDaemonSet): boolean {
    return compiled().some(({ untilReady }) =>
      untilReady.some(
        ({ value: { parts } }) =>
          parts.daemonSets.some((one) => one.namespace === namespace && one.name === name) ||
          parts.allDaemonSets.some((one) => isAmong(one, { namespace, name })),
      ),
    );
  }

  function retainPods(): void {
    const isPermitted = rights.permits('listPods');
    pods.retain(() => (isPermitted ? [...daemonSets.entries()].filter(isAwaited) : []));
    pods.watchNew(isPermitted ? namedDaemonSets() : []);
  }

  /** The DaemonSets that policies name, and that exist. */
  function namedDaemonSets(): Entry<ClusterDaemonSet>[] {
    const enforced = compiled().filter(({ mode }) => mode !== 'Audit');
    const named = enforced.flatMap(({ untilReady }) => untilReady.flatMap(({ value }) => value.parts.daemonSets));
    return named.flatMap(({ namespace, name }) => daemonSets.get(name, namespace) ?? []);
  }

  async function readReplicas(): Promise<number | undefined> {
    if (compiled().every(({ untilReady }) => untilReady.length === 0)) return undefined;
    await daemonSets.synced;
    replicas = await listReplicas(client, service);
    onChange();
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
      [...waits].flatMap(([name, { waiting }]) => overdueOn(name, waiting)),
      'StartupTaintDeadlineExceeded',
      (texts) => `the progress deadline of startup taints has passed: ${texts.join('; ')}`,
    );
    return [...faults, ...writes, ...overdue];
  }
}

/**
 * What prevents the changes, if the API server did not store what was written: mutating webhooks are called, too.
 * @param stored the taints of the Node after the write
 */
export function undoneChanges(
  { late, again, removable }: StartupChanges,
  stored: readonly Taint[],
): Pick<ApiError, 'status' | 'reason' | 'message'> | undefined {
  const undone = [
    ...stored.filter((taint) => removable.some((one) => sameTaint(one.taint, taint))),
    ...taintsOnlyIn(
      [...late, ...again].map(({ taint }) => taint),
      stored,
    ),
  ];
  if (undone.length === 0) return undefined;
  return {
    status: 200,
    reason: 'Undone',
    message: `a mutating webhook undoes the change of startup taint ${undone.map(formatTaint).join(', ')}; to list the webhooks: kubectl get mutatingwebhookconfigurations`,
  };
}

/** Whether the pods of the DaemonSet run on the same nodes as before. */
function isSameDaemonSet({ uid, value }: Entry<ClusterDaemonSet>, before: Entry<ClusterDaemonSet>): boolean {
  return uid === before.uid && value.generation === before.value.generation && value.deleting === before.value.deleting;
}

function textOf(waiting: readonly WaitingTaint[]): string | undefined {
  return waiting.length === 0 ? undefined : waiting.map(waitingText).join('; ');
}

/**
 * The startup taints of a node that wait past the progress deadline. The policies are `Stalled` then, as a Deployment whose progress deadline
 * is exceeded: kstatus counts that as `Stalled`, too (sigs.k8s.io/cli-utils: pkg/kstatus/status/core.go).
 */
function overdueOn(name: string, waiting: readonly WaitingTaint[]): Concern[] {
  return waiting
    .filter(({ isOverdue }) => isOverdue)
    .map((one) => ({
      policies: one.requirement.policies,
      text: shorten(`on node ${name}, ${waitingText(one)}`, MAX_NODE_TEXT),
    }));
}
