import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isOutdated } from '../../cluster/client/api-error.ts';
import type { ClusterPolicies } from '../../cluster/policies/policies.ts';
import { policiesPath } from '../../cluster/policies/policy-paths.ts';
import type { StuckPod } from '../../judge/policy/findings.ts';
import type { PatchedDaemonSet } from '../../policy/reporting/policy-status.ts';
import { orAborted } from '../../runtime/abort.ts';
import type { SyncState, WatchedDaemonSets, WatchedNodes } from '../cluster-watches.ts';
import {
  CONFLICT_PAUSE_MS,
  type Controller,
  type Run,
  startControllerQueue,
  startControllerReconciler,
} from '../controller.ts';
import type { Reports } from '../reports.ts';
import type { Reading } from './compared-kinds.ts';
import { type EvaluatedPolicy, type Evaluation, evaluatePolicies } from './evaluate-policies.ts';
import { isToWrite, type WrittenStatus } from './written-status.ts';

export interface PolicyStatusOptions {
  readonly client: ApiClient;
  /** The namespace of taintkeeper. */
  readonly namespace: string;
  readonly nodes: Pick<WatchedNodes, 'entries' | 'news'> & SyncState;
  readonly daemonSets: Pick<WatchedDaemonSets, 'entries' | 'changes' | 'unreadable'> & SyncState;
  readonly policies: Pick<ClusterPolicies, 'snapshot' | 'objects' | 'statusChanges'>;
  /** Every policy is taken to be in mode Audit. */
  readonly audit: boolean;
  readonly reports: Omit<Reports, 'add'>;
  /** The DaemonSets that the TolerationPolicy has patched. */
  readonly patchedBy: (policy: string) => readonly PatchedDaemonSet[];
  /** The daemon pods that are Failed on a node where they could run, however short the time. */
  readonly stuckPods: () => readonly StuckPod[];
}

/** The policies are evaluated again after this time, whatever the watches show. */
const CHECK_AGAIN_MS = 60_000;
/** The same while not all nodes and DaemonSets are known. Nothing else shows that lists fail for too long. */
const CHECK_UNREAD_AGAIN_MS = 10_000;
/** Least time between two evaluations, in milliseconds. */
export const STATUS_PAUSE_MS = 5_000;

/** Evaluates the policies, and writes each status that has changed. */
export function startPolicyStatus(run: Run, options: PolicyStatusOptions): Controller {
  const { client, namespace, nodes, daemonSets, policies, audit } = options;
  const { reports, patchedBy, stuckPods } = options;
  const { signal, metrics } = run;
  /** The last evaluation of each policy, by its uid. It is kept while a controller does not know the conditions of a new version. */
  let evaluated: ReadonlyMap<string, EvaluatedPolicy> = new Map();
  /** The policies whose status is to be written, by uid. */
  let toWrite: ReadonlyMap<string, EvaluatedPolicy> = new Map();
  /** By the uid of the policy. */
  const written = new Map<string, WrittenStatus>();
  /** Whether a controller has reported something since the last evaluation, such as a right: refused writes are then tried again. */
  let hasNews = false;
  const reconciler = startControllerReconciler(run, 'policy-status', reconcile, { pauseMs: STATUS_PAUSE_MS });
  // A status that the API server refuses has a back-off of its own, and delays no other.
  const writes = startControllerQueue(run, 'policy-status-write', { work: write, concurrency: 1 });
  // The controllers also report what they register for a new policy.
  reports.changes.subscribe(() => {
    hasNews = true;
    reconciler.restart();
  }, signal);
  for (const source of [nodes.news, daemonSets.changes, policies.statusChanges]) {
    source.subscribe(() => reconciler.trigger(), signal);
  }
  // What could not be listed at first.
  for (const { synced } of [nodes, daemonSets])
    synced.then(
      () => reconciler.trigger(),
      () => {},
    );
  return { stop: async () => void (await Promise.all([reconciler.stop(), writes.stop()])) };

  async function reconcile(): Promise<number> {
    await orAborted(Promise.all([nodes.tried, daemonSets.tried, reports.ready()]), signal);
    // News that comes during the evaluation counts for the next one.
    const isWithNews = hasNews;
    hasNews = false;
    const evaluation = await evaluatePolicies({
      objects: policies.objects(),
      readings: { nodes: readingOf(nodes), daemonSets: readingOf(daemonSets) },
      compiled: policies.snapshot().compiled,
      nodes: Array.from(nodes.entries(), ({ value }) => value),
      daemonSets: Array.from(daemonSets.entries(), ({ value }) => value),
      unreadable: [...daemonSets.unreadable()],
      ownNamespace: namespace,
      pods: stuckPods(),
      reports,
      patchedBy,
      audit,
      violators: new Map(Array.from(evaluated, ([uid, { violators }]) => [uid, violators])),
      now: client.now(),
    });
    const uids = new Set(policies.objects().map(({ uid }) => uid));
    const found = evaluation.policies.map((one) => [one.policy.uid, one] as const);
    evaluated = new Map([...evaluated, ...found].filter(([uid]) => uids.has(uid)));
    setMetrics(evaluation.problems);
    toWrite = new Map(found.filter(([uid, { policy, status }]) => isToWrite(policy.status, status, written.get(uid))));
    for (const uid of written.keys()) if (!uids.has(uid)) written.delete(uid);
    for (const uid of toWrite.keys()) {
      if (isWithNews) writes.restart(uid);
      else writes.add(uid);
    }
    return nodes.isSynced() && daemonSets.isSynced() ? CHECK_AGAIN_MS : CHECK_UNREAD_AGAIN_MS;
  }

  function setMetrics(problems: Evaluation['problems']): void {
    metrics.stalled(problems);
    metrics.violating(
      [...evaluated.values()].flatMap(({ policy: { kind, name }, status: { violating = 0 } }) =>
        kind === 'TolerationRestriction' ? [] : [{ kind, policy: name, count: violating }],
      ),
    );
  }

  async function write(uid: string): Promise<undefined> {
    const found = toWrite.get(uid);
    if (!found) return;
    const { kind, name, resourceVersion } = found.policy;
    try {
      const answer = await client.request<{ status?: unknown } | undefined>(
        'PATCH',
        `${policiesPath(kind)}/${name}/status`,
        {
          contentType: 'application/json-patch+json',
          body: [
            // Another policy of the same name, and a newer status of another leader, are not overwritten.
            { op: 'replace', path: '/metadata/uid', value: uid },
            { op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion },
            // The whole status: a merge would keep fields of an earlier status.
            { op: 'add', path: '/status', value: found.status },
          ],
        },
      );
      written.set(uid, { sent: found.status, stored: answer?.status });
    } catch (error) {
      if (!isOutdated(error)) throw error;
      reconciler.trigger(CONFLICT_PAUSE_MS);
    }
  }
}

function readingOf({ isSynced, listFault }: SyncState): Reading {
  if (isSynced()) return 'Read';
  const error = listFault();
  return error === undefined ? 'Pending' : { error };
}
