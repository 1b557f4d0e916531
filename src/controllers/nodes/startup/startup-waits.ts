import type { ApiClient } from '../../../cluster/client/api-client.ts';
import type { ServiceRef } from '../../../cluster/installation/service-ref.ts';
import type { ClusterDaemonSet, ClusterNode } from '../../../cluster/objects/cluster-objects.ts';
import type { ClusterPolicies } from '../../../cluster/policies/policies.ts';
import type { Entry } from '../../../cluster/watch/cached-objects.ts';
import type { StoredNode } from '../../../judge/node-view.ts';
import { startupBlockers } from '../../../judge/startup/startup-readiness.ts';
import type { StartupFacts, StartupStep } from '../../../judge/startup/startup-step.ts';
import type { ReadyDaemonSet } from '../../../policy/ready-when.ts';
import type { RecordedEvent } from '../../../policy/reporting/recorded-event.ts';
import type { SyncState, WatchedDaemonSets } from '../../cluster-watches.ts';
import type { Controller, Run } from '../../controller.ts';
import type { Rights } from '../../optional-rights.ts';
import { recordOnNode } from '../../record-on-node.ts';
import type { ReportedProblem } from '../../reports.ts';
import type { PerNode } from '../per-node.ts';
import { trackWriteFaults, type WriteFault } from '../write-faults.ts';
import { isAwaited, namedDaemonSets } from './awaited-daemon-sets.ts';
import { watchCsiNodes } from './csi-nodes.ts';
import { startReplicaPods } from './replica-pods.ts';
import { recordStartupChanges, type StartupChanges } from './startup-changes.ts';
import { watchStartupPods } from './startup-pods.ts';
import { startupProblems } from './startup-problems.ts';
import { sourcesOf } from './startup-sources.ts';
import { trackWaitingNodes } from './waiting-nodes.ts';

export interface StartupWaitsOptions {
  readonly client: ApiClient;
  /** The Service whose pods are the replicas. */
  readonly service: ServiceRef;
  readonly daemonSets: WatchedDaemonSets & SyncState;
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

type NodeEntry = Entry<ClusterNode>;

/** The nodes that wait with startup taints: what they wait for, and who is told. */
export interface StartupWaits extends Controller {
  /**
   * Takes a step of the node. What the step reads for the node alone is watched until a later step does not read it.
   * @param step gets what a taint of the node waits for: see {@link StartupFacts}
   */
  duringStep<T>(node: StoredNode, step: (blockers: StartupFacts['blockers']) => T): T;
  /** Notes what the node waits for now, and records taints that are overdue. */
  noteWaiting(entry: NodeEntry, step: StartupStep): void;
  /** Records changes that were written. */
  recordWritten(entry: NodeEntry, changes: StartupChanges): void;
  /** The API server refused changes of startup taints of the policies, or did not store them. */
  setWriteFault(node: string, policies: readonly string[], fault: WriteFault): void;
  /** @param leftAlone the policies whose startup taints the leader leaves alone */
  clearWriteFault(node: string, leftAlone: readonly string[]): void;
  /** What the startup taints of the node wait for, in words. */
  startupOn(node: string): string | undefined;
  /** Whether startup taints of the node wait, or a write of them had no effect. */
  isTracked(node: string): boolean;
  problems(): readonly ReportedProblem[];
}

export function startStartupWaits(run: Run, options: StartupWaitsOptions): StartupWaits {
  const { client, service, daemonSets, policies, rights, recordEvent, kept, check, onChange } = options;
  const { signal } = run;
  const record = recordOnNode(recordEvent, run.log);
  const compiled = () => policies.snapshot().compiled.taintPolicies;
  const waitingNodes = trackWaitingNodes(kept, record, onChange);
  /** The nodes whose last step asked what a taint waits for. One that may get a taint late does not wait yet. */
  const asking = new Set<string>();
  kept.onForget((node) => asking.delete(node));
  const writeFaults = trackWriteFaults(kept, onChange);
  const replicas = startReplicaPods(run, { client, service, compiled, onChange });
  const pods = watchStartupPods(run, client, daemonSets, kept, (node) => {
    if (node === undefined) checkAsking();
    else if (asking.has(node)) check(node);
  });
  const csiNodes = watchCsiNodes(run, client, kept, (node) => {
    if (asking.has(node)) check(node);
  });
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
    replicas.restart();
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
  daemonSets.unreadableChanges.subscribe((daemonSet) => {
    checkAwaiting(daemonSet);
    onChange();
  }, signal);

  return {
    duringStep(node, step) {
      const { name } = node;
      asking.delete(name);
      const podsOnNode = pods.beginStep(node);
      const csiNode = csiNodes.beginStep(name);
      const sources = sourcesOf({ daemonSets, pods: podsOnNode, csiNode, rights });
      const result = step(({ parts }, startup) => {
        asking.add(name);
        return startupBlockers(parts, node, sources, startup);
      });
      // An unreadable DaemonSet, for example, is waited for without pods.
      podsOnNode.endStep();
      csiNode.endStep();
      return result;
    },
    noteWaiting: waitingNodes.note,
    recordWritten: (entry, changes) => recordStartupChanges(record, entry, changes),
    setWriteFault: writeFaults.set,
    clearWriteFault: writeFaults.clear,
    startupOn: waitingNodes.textOn,
    isTracked: (node) => waitingNodes.has(node) || writeFaults.has(node),
    problems: () =>
      startupProblems({ policies: compiled(), daemonSets, replicas: replicas.current(), waitingNodes, writeFaults }),
    stop: async () => void (await Promise.all([replicas.stop(), pods.stop(), csiNodes.stop()])),
  };

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
}

/** Whether the pods of the DaemonSet run on the same nodes as before. */
function isSameDaemonSet({ uid, value }: Entry<ClusterDaemonSet>, before: Entry<ClusterDaemonSet>): boolean {
  return uid === before.uid && value.generation === before.value.generation && value.deleting === before.value.deleting;
}
