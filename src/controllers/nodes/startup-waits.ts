import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { ApiError } from '../../cluster/client/api-error.ts';
import { listReplicas } from '../../cluster/installation/replica-pods.ts';
import type { ServiceRef } from '../../cluster/installation/service-endpoint.ts';
import type { ClusterPolicies } from '../../cluster/policies/policies.ts';
import type { Entry } from '../../cluster/watch/cached-objects.ts';
import type { ClusterDaemonSet, ClusterNode } from '../../cluster/watch/cluster-objects.ts';
import type { StoredNode } from '../../judge/node-view.ts';
import { protectedStartupTaintsAmong, startupFaults } from '../../judge/policy/startup-faults.ts';
import { startupBlockers } from '../../judge/startup/startup-readiness.ts';
import type { StartupFacts, StartupStep } from '../../judge/startup/startup-step.ts';
import { shorten } from '../../kubernetes/text.ts';
import type { ReadyDaemonSet } from '../../policy/ready-when.ts';
import type { RecordedEvent } from '../../policy/recorded-event.ts';
import type { ReplicaPod } from '../../scheduling/replica-spread.ts';
import type { Reading, WatchedDaemonSets } from '../cluster-watches.ts';
import { type Controller, type Run, startController } from '../controller.ts';
import type { Rights } from '../optional-rights.ts';
import { problemsOf, type ReportedProblem } from '../reports.ts';
import { isAwaited, namedDaemonSets } from './awaited-daemon-sets.ts';
import { watchCsiNodes } from './csi-nodes.ts';
import type { PerNode } from './per-node.ts';
import { trackRefusals } from './refusals.ts';
import { reportOnNode } from './report-on-node.ts';
import { policiesOf, reportStartupChanges, type StartupChanges } from './startup-changes.ts';
import { watchStartupPods } from './startup-pods.ts';
import { type StartupWatches, sourcesOf } from './startup-sources.ts';
import { MAX_NODE_TEXT, trackWaitingNodes } from './waiting-nodes.ts';

export interface StartupWaitsOptions {
  readonly client: ApiClient;
  /** The Service whose pods are the replicas. */
  readonly service: ServiceRef;
  readonly daemonSets: WatchedDaemonSets & Reading;
  readonly policies: Pick<ClusterPolicies, 'snapshot' | 'changes'>;
  readonly rights: Rights;
  readonly recordEvent: (event: RecordedEvent) => void;
  readonly kept: PerNode;
  /** Asks for a check of the node, after some milliseconds. */
  readonly check: (node: string, afterMs?: number) => void;
  /** Called when the answers may have changed. */
  readonly onChange: () => void;
}

/** Changes of a DaemonSet within this time lead to one check of the nodes that wait for it. */
const DEBOUNCE_MS = 200;
/** The tolerations of the replicas are read at this interval while a policy has a startup taint. */
const REPLICAS_MS = 60_000;

type NodeEntry = Entry<ClusterNode>;

/** The nodes that wait with startup taints: what they wait for, and who is told. */
export interface StartupWaits extends Controller {
  /** What a taint of the node waits for: see {@link StartupFacts}. */
  blockersOn(node: StoredNode): StartupFacts['blockers'];
  /** Ends what is read for the node alone and its last step has not read. */
  settled(node: string): void;
  /** Notes what the node waits for now, and reports taints that are overdue. */
  observe(entry: NodeEntry, step: StartupStep): void;
  /** Ends what is read for the node alone: it was deleted. */
  forget(node: string): void;
  /** Reports changes that were written. */
  written(entry: NodeEntry, changes: StartupChanges): void;
  /** The API server refused such changes, or did not store them. */
  refused(node: string, changes: StartupChanges, error: Pick<ApiError, 'status' | 'reason' | 'message'>): void;
  /** @param inConflict the policies whose startup taints are left to another writer */
  notRefused(node: string, inConflict: readonly string[]): void;
  /** What the startup taints of the node wait for, in words. */
  startupOn(node: string): string | undefined;
  problems(): readonly ReportedProblem[];
}

export function startStartupWaits(run: Run, options: StartupWaitsOptions): StartupWaits {
  const { client, service, daemonSets, policies, rights, recordEvent, kept, check, onChange } = options;
  const { signal } = run;
  const report = reportOnNode(recordEvent, run.log);
  const compiled = () => policies.snapshot().compiled.taintPolicies;
  const waitingNodes = trackWaitingNodes(kept, report, onChange);
  /** The nodes whose last step asked what a taint waits for. One that may get a taint late does not wait yet. */
  const asking = new Set<string>();
  /** The nodes whose last step read pods, or a CSINode: an unreadable DaemonSet, for example, is waited for without pods. */
  const readingPods = new Set<string>();
  const readingCsiNode = new Set<string>();
  let replicas: readonly ReplicaPod[] = [];
  const refusals = trackRefusals(kept, onChange);
  const readingReplicas = startController(run, 'startup-replicas', readReplicas);
  const pods = watchStartupPods(run, client, daemonSets, (node) => {
    if (node === undefined) checkAsking();
    else if (asking.has(node)) check(node);
  });
  const csiNodes = watchCsiNodes(run, client, (node) => {
    if (asking.has(node)) check(node);
  });
  const watches: StartupWatches = {
    daemonSets,
    pods: {
      on(node, awaited) {
        readingPods.add(node.name);
        return pods.on(node, awaited);
      },
    },
    csiNodes: {
      on(node) {
        readingCsiNode.add(node);
        return csiNodes.on(node);
      },
    },
    rights,
  };
  daemonSets.synced.then(
    () => {
      retainPods();
      checkAsking();
    },
    () => {},
  );
  // What a missing right keeps from being read may be given up.
  daemonSets.refusals.subscribe(checkAsking, signal);
  policies.changes.subscribe(() => {
    retainPods();
    readingReplicas.restart();
  }, signal);
  rights.changes.subscribe(() => {
    retainPods();
    checkAsking();
  }, signal);
  daemonSets.changes.subscribe((change) => {
    // Its status changes with each of its pods.
    if (change.type === 'modified' && isSameDaemonSet(change.entry, change.previous)) return;
    retainPods();
    checkAwaiting(change.entry);
  }, signal);
  daemonSets.staleChanges.subscribe((daemonSet) => {
    checkAwaiting(daemonSet);
    onChange();
  }, signal);

  return {
    blockersOn(node) {
      forgetStep(node.name);
      return ({ parts }, startup) => {
        asking.add(node.name);
        return startupBlockers(parts, node, sourcesOf(node, watches), startup);
      };
    },
    observe: waitingNodes.observe,
    settled(node) {
      if (!readingPods.has(node)) pods.end(node);
      if (!readingCsiNode.has(node)) csiNodes.end(node);
    },
    forget(node) {
      forgetStep(node);
      pods.forget(node);
      csiNodes.end(node);
    },
    written: (entry, changes) => reportStartupChanges(report, entry, changes),
    refused: (node, changes, error) => refusals.set(node, policiesOf(changes), error),
    notRefused: refusals.end,
    startupOn: waitingNodes.textOn,
    problems,
    stop: async () => void (await Promise.all([readingReplicas.stop(), pods.stop(), csiNodes.stop()])),
  };

  /** What the node asked and read in its last step no longer counts. */
  function forgetStep(node: string): void {
    for (const nodes of [asking, readingPods, readingCsiNode]) nodes.delete(node);
  }

  function checkAsking(): void {
    for (const node of [...asking]) check(node);
  }

  function checkAwaiting(daemonSet: ReadyDaemonSet): void {
    if (isAwaited(compiled(), daemonSet)) for (const node of asking) check(node, DEBOUNCE_MS);
  }

  function retainPods(): void {
    const isPermitted = rights.permits('listPods');
    pods.retain(() =>
      isPermitted ? [...daemonSets.entries()].filter((daemonSet) => isAwaited(compiled(), daemonSet)) : [],
    );
    const named = isPermitted ? namedDaemonSets(compiled()) : [];
    pods.watchNew(named.flatMap(({ namespace, name }) => daemonSets.get(name, namespace) ?? []));
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
        protectedStartupTaints: protectedStartupTaintsAmong(all),
        daemonSetOf: ({ namespace, name }) =>
          daemonSets.isStale(name, namespace) ? 'Unreadable' : daemonSets.get(name, namespace)?.value,
        replicas,
      }).map((fault): ReportedProblem => ({ kind: policy.kind, policy: policy.name, ...fault })),
    );
    const writes = problemsOf(
      refusals.concerns((message) => shorten(message, MAX_NODE_TEXT)),
      'StartupTaintRefused',
      (texts) => `startup taints cannot be changed: ${texts.join('; ')}`,
    );
    const overdue = problemsOf(
      waitingNodes.overdue(),
      'StartupTaintDeadlineExceeded',
      (texts) => `the progress deadline of startup taints has passed: ${texts.join('; ')}`,
    );
    return [...faults, ...writes, ...overdue];
  }
}

/** Whether the pods of the DaemonSet run on the same nodes as before. */
function isSameDaemonSet({ uid, value }: Entry<ClusterDaemonSet>, before: Entry<ClusterDaemonSet>): boolean {
  return uid === before.uid && value.generation === before.value.generation && value.deleting === before.value.deleting;
}
