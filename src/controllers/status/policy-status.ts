import { isDeepStrictEqual } from 'node:util';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { ApiError, isOutdated } from '../../cluster/client/api-error.ts';
import type { NodeRecords } from '../../cluster/node-records.ts';
import { type ClusterPolicies, POLICY_GROUP, POLICY_RESOURCES, type PolicyObject } from '../../cluster/policies.ts';
import type { StuckPod } from '../../judge/findings.ts';
import { withRecord } from '../../judge/node-record.ts';
import type { PatchedDaemonSet, PolicyStatus } from '../../policy/policy-status.ts';
import { orAborted } from '../../runtime/pause.ts';
import { createSubject, type Source } from '../../runtime/source.ts';
import { CONFLICT_PAUSE_MS, type Controller, type Run, startController } from '../controller.ts';
import type { Reports } from '../reports.ts';
import type { WatchedDaemonSets, WatchedNodes } from '../sources.ts';
import { type Evaluation, evaluatePolicies } from './evaluate-policies.ts';

export interface PolicyStatusOptions {
  readonly client: ApiClient;
  /** The namespace of taintkeeper, whose DaemonSets are ignored. */
  readonly namespace: string;
  readonly nodes: Pick<WatchedNodes, 'entries' | 'news'>;
  readonly daemonSets: Pick<WatchedDaemonSets, 'entries' | 'changes'>;
  /** Resolves when `nodes` and `daemonSets` have all of them. */
  readonly synced: Promise<unknown>;
  readonly nodeRecords: Pick<NodeRecords, 'recordOf' | 'changes'>;
  readonly policies: Pick<ClusterPolicies, 'snapshot' | 'objects' | 'statusChanges'>;
  /** Every policy is taken to be in mode Audit. */
  readonly audit: boolean;
  readonly reports: Omit<Reports, 'add'>;
  /** How many nodes lack a taint of the TaintPolicy that evicts pods, including those whose turn it is. */
  readonly awaitingEviction: (policy: string) => number;
  /** The DaemonSets that the TolerationPolicy has patched. */
  readonly patchedBy: (policy: string) => readonly PatchedDaemonSet[];
  /** The daemon pods that are Failed on a node where they could run, however short the time. */
  readonly stuckPods: () => readonly StuckPod[];
}

export interface PolicyStatusController extends Controller {
  /** Emits each evaluation of the policies. */
  readonly evaluations: Source<Evaluation>;
}

/** The policies are evaluated again after this time, whatever the watches show. */
const CHECK_AGAIN_MS = 60_000;
/** Least time between two evaluations, in milliseconds. */
const PAUSE_MS = 5_000;

/** Evaluates the policies, and writes each status that has changed. */
export function startPolicyStatus(run: Run, options: PolicyStatusOptions): PolicyStatusController {
  const { client, namespace, nodes, daemonSets, synced, nodeRecords, policies, audit } = options;
  const { reports, awaitingEviction, patchedBy, stuckPods } = options;
  const { signal, metrics } = run;
  const evaluations = createSubject<Evaluation>();
  /** All violators of each policy, by its uid. */
  let violators: ReadonlyMap<string, readonly string[]> = new Map();
  const reconciler = startController(run, 'policy-status', reconcile, { pauseMs: PAUSE_MS });
  // The controllers also report what they register for a new policy.
  reports.changes.subscribe(() => reconciler.restart(), signal);
  for (const source of [nodes.news, nodeRecords.changes, daemonSets.changes, policies.statusChanges]) {
    source.subscribe(() => reconciler.trigger(), signal);
  }
  return { evaluations, stop: reconciler.stop };

  async function reconcile(): Promise<number> {
    await orAborted(Promise.all([synced, reports.ready()]), signal);
    const evaluation = await evaluatePolicies({
      objects: policies.objects(),
      compiled: policies.snapshot().compiled,
      nodes: Array.from(nodes.entries(), ({ name, uid, value }) => withRecord(value, nodeRecords.recordOf(name), uid)),
      daemonSets: Array.from(daemonSets.entries(), ({ value }) => value).filter((one) => one.namespace !== namespace),
      pods: stuckPods(),
      reports,
      patchedBy,
      audit,
      violators,
    });
    violators = new Map(evaluation.policies.map(({ policy, violators }) => [policy.uid, violators]));
    count(evaluation);
    evaluations.next(evaluation);
    return (await writeAll(evaluation)) ? CHECK_AGAIN_MS : CONFLICT_PAUSE_MS;
  }

  function count({ problems, policies: evaluated }: Evaluation): void {
    metrics.stalled(problems);
    metrics.violating(
      evaluated.flatMap(({ policy: { kind, name }, violators: { length } }) =>
        kind === 'TolerationRestriction' ? [] : [{ kind, policy: name, count: length }],
      ),
    );
    metrics.awaitingEviction(
      evaluated
        .filter(({ policy }) => policy.kind === 'TaintPolicy')
        .map(({ policy: { name } }) => ({ policy: name, count: awaitingEviction(name) }))
        .filter(({ count }) => count > 0),
    );
  }

  /**
   * @returns false if a policy has changed since it was evaluated
   * @throws ApiError
   */
  async function writeAll({ policies: evaluated }: Evaluation): Promise<boolean> {
    let isCurrent = true;
    const faults: unknown[] = [];
    for (const { policy, status } of evaluated) {
      try {
        if (!isDeepStrictEqual(policy.status, status) && !(await write(policy, status))) isCurrent = false;
      } catch (error) {
        // The other statuses are written although the API server refuses this one.
        if (!(error instanceof ApiError)) throw error;
        faults.push(error);
      }
    }
    if (faults.length > 0) throw faults[0];
    return isCurrent;
  }

  /** @returns false if the policy has changed or was deleted since */
  async function write({ kind, name, uid, resourceVersion }: PolicyObject, status: PolicyStatus): Promise<boolean> {
    try {
      await client.request('PATCH', `${POLICY_GROUP}/${POLICY_RESOURCES[kind]}/${name}/status`, {
        contentType: 'application/json-patch+json',
        body: [
          // Another policy of the same name, and a newer status of another leader, are not overwritten.
          { op: 'replace', path: '/metadata/uid', value: uid },
          { op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion },
          // The whole status: a merge would keep fields of an earlier status.
          { op: 'add', path: '/status', value: status },
        ],
      });
      return true;
    } catch (error) {
      if (isOutdated(error)) return false;
      throw error;
    }
  }
}
