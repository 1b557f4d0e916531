import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { ApiError, isConflict, isNotServed, isOutdated } from '../../cluster/client/api-error.ts';
import { deleteObject } from '../../cluster/client/delete-object.ts';
import type { PolicyObject } from '../../cluster/policy-object.ts';
import { notPermitted } from '../../cluster/rights.ts';
import { listObjects } from '../../cluster/watch/list-pages.ts';
import { type DaemonSetView, judgeDaemonSet } from '../../judge/daemon-set.ts';
import { nodeDrift } from '../../judge/node-drift.ts';
import type { NodeWithRecord } from '../../judge/node-view.ts';
import { formatLabels } from '../../kubernetes/label-selector.ts';
import { formatTaint } from '../../kubernetes/taint.ts';
import { atMost } from '../../kubernetes/text.ts';
import {
  type Checked,
  clusterReport,
  NameTakenError,
  NOT_OURS,
  REPORT_API_VERSION,
  reportedPolicy,
  type Subject,
  type TimedReport,
  timed,
} from '../../objects/cluster-report.ts';
import { MANAGED_LABELS } from '../../objects/object-meta.ts';
import type { CompiledTaintPolicy, CompiledTolerationPolicy } from '../../policy/policy-set.ts';
import { followFault } from '../../runtime/fault-log.ts';
import type { Source } from '../../runtime/source.ts';
import { type Controller, type Run, startController } from '../controller.ts';
import { type Ownership, ownedByClusterRole } from '../managed-objects.ts';
import type { Rights } from '../rights.ts';
import type { EvaluatedPolicy, Evaluation } from './evaluate-policies.ts';

export const CLUSTER_REPORTS = `/apis/${REPORT_API_VERSION}/clusterreports`;

/** Minimum time between two runs, in milliseconds: reports are for audits, and larger than statuses. */
const PAUSE_MS = 30_000;
/** A user may be about to install the CustomResourceDefinitions. */
const CHECK_AGAIN_MS = 60_000;

/** Taints, tolerations or pods that one result names. */
const MAX_NAMED = 8;

const NOT_SERVED = `--write-reports: the API server does not serve ${REPORT_API_VERSION}: install the CustomResourceDefinitions of OpenReports`;

export interface ClusterReportsOptions {
  readonly client: ApiClient;
  readonly policies: { objects(): readonly Pick<PolicyObject, 'uid'>[] };
  readonly nodes: { get(name: string): { readonly uid: string } | undefined };
  readonly daemonSets: { get(name: string, namespace: string): { readonly uid: string } | undefined };
  readonly rights: Rights;
  /** Name of the ClusterRole that owns the reports, if any. */
  readonly ownerClusterRole: string | undefined;
}

type Stored = TimedReport & {
  readonly metadata: { readonly uid: string; readonly resourceVersion: string } & Ownership;
};

/**
 * Writes the ClusterReport of each policy, and deletes those of policies that no longer exist. If the API server does not serve ClusterReports, or
 * does not permit them, one line of the log says so.
 * @param evaluation returns the latest evaluation, if there is one
 * @returns a function whose result is in how many milliseconds to run again
 */
export function reportWriter(
  { client, policies, nodes, daemonSets, rights, ownerClusterRole }: ClusterReportsOptions,
  evaluation: () => Evaluation | undefined,
  log: Logger,
): () => Promise<number | undefined> {
  const obstacle = followFault(log, '--write-reports: ClusterReports are written now');

  return async () => {
    const permitted = rights.permits('writeReports');
    if (permitted === false) obstacle.is('NotPermitted', notPermitted('writeReports', '--write-reports'));
    // A change of the rights causes another run.
    if (!permitted) return undefined;
    const stored = await storedReports();
    if (stored === undefined) {
      obstacle.is('NotServed', NOT_SERVED);
      return CHECK_AGAIN_MS;
    }
    const ownership = await ownedByClusterRole(client, ownerClusterRole);
    const existing = new Set(policies.objects().map(({ uid }) => uid));
    const faults: unknown[] = [];
    const attempt = async (work: () => Promise<unknown>) => {
      try {
        await work();
      } catch (error) {
        // The other reports are written although the API server refuses this one. A report that another client has changed is read in the next run.
        if (!(error instanceof ApiError || error instanceof NameTakenError)) throw error;
        if (!isOutdated(error)) faults.push(error);
      }
    };
    for (const report of stored.values()) {
      if (!existing.has(reportedPolicy(report) ?? '')) await attempt(() => remove(report));
    }
    const found = evaluation();
    for (const one of found?.policies ?? []) {
      // Many policies and many nodes take time, and admissions must not wait.
      await setImmediate();
      if (found && existing.has(one.policy.uid)) await attempt(() => write(found, one, stored, ownership));
    }
    if (faults.length > 0) throw faults[0];
    obstacle.isOver();
    return CHECK_AGAIN_MS;
  };

  /** By name; undefined if the API is not served. */
  async function storedReports(): Promise<Map<string, Stored> | undefined> {
    const labelSelector = formatLabels(MANAGED_LABELS);
    try {
      const all = await listObjects(client, CLUSTER_REPORTS, (object) => object as Stored, { labelSelector });
      return new Map(all.map((report) => [report.metadata.name, report]));
    } catch (error) {
      if (isNotServed(error)) return undefined;
      throw error;
    }
  }

  async function write(
    from: Evaluation,
    one: EvaluatedPolicy,
    stored: ReadonlyMap<string, Stored>,
    ownership: Ownership,
  ): Promise<void> {
    const { policy, status } = one;
    const shape = clusterReport({ policy, status, checked: checkedBy(one, from)?.map(identified) });
    const { name } = shape.metadata;
    const before = stored.get(name);
    const { metadata, ...report } = timed(shape, before, client.now());
    const body = { ...report, metadata: { ...metadata, ...ownership } };
    if (before === undefined) {
      try {
        await client.request('POST', CLUSTER_REPORTS, { body });
      } catch (error) {
        if (isConflict(error) && (await isTaken(name))) throw new NameTakenError(policy);
        throw error;
      }
      return;
    }
    if (isDeepStrictEqual(ours(before), ours(body))) return;
    const { resourceVersion, uid } = before.metadata;
    await client.request('PUT', `${CLUSTER_REPORTS}/${name}`, {
      body: { ...body, metadata: { ...body.metadata, resourceVersion, uid } },
    });
  }

  /** Whether another client has written the report; otherwise another leader has just written it. The leader may list reports, and not get one. */
  async function isTaken(name: string): Promise<boolean> {
    const query = { fieldSelector: `metadata.name=${name}`, labelSelector: NOT_OURS };
    return (await listObjects(client, CLUSTER_REPORTS, () => name, query)).length > 0;
  }

  async function remove({ metadata: { name, uid } }: Stored): Promise<void> {
    await deleteObject(client, `${CLUSTER_REPORTS}/${name}`, { uid });
  }

  function identified({ subject, fault }: Checked): Checked {
    const { name, namespace } = subject;
    const uid = (namespace === undefined ? nodes.get(name) : daemonSets.get(name, namespace))?.uid;
    return { subject: uid === undefined ? subject : { ...subject, uid }, fault };
  }
}

/** The part of a report that taintkeeper writes. */
function ours({ metadata, source, configuration, summary, results = [] }: TimedReport & { metadata: Ownership }) {
  const { labels, annotations = {}, ownerReferences = [] } = metadata;
  return { labels, annotations, ownerReferences, source, configuration, summary, results };
}

/** The objects that the policy selects; undefined if it is not in force, or is of a kind that selects nothing. */
function checkedBy(
  { own, violators }: EvaluatedPolicy,
  { selected, daemonSets, pods }: Evaluation,
): Checked[] | undefined {
  const differs = new Set(violators);
  switch (own?.kind) {
    case undefined:
    case 'TolerationRestriction':
      return undefined;
    case 'TaintPolicy':
      return (selected.get(own) ?? []).map((node) => ({
        subject: { apiVersion: 'v1', kind: 'Node', name: node.name },
        fault: differs.has(node.name) ? () => lossesOn(node, own) : undefined,
      }));
    case 'TolerationPolicy':
      return daemonSets.filter(own.selectsDaemonSet).map((daemonSet) => ({
        subject: subjectOf(daemonSet),
        fault: differs.has(keyOf(daemonSet)) ? () => missingIn(daemonSet, own) : undefined,
      }));
    case 'RecoveryPolicy': {
      const stuck = Map.groupBy(
        pods.filter((pod) => differs.has(pod.name)),
        ({ daemonSet }) => keyOf(daemonSet),
      );
      return daemonSets.filter(own.selectsDaemonSet).map((daemonSet) => {
        const names = stuck.get(keyOf(daemonSet))?.map((pod) => pod.name);
        return { subject: subjectOf(daemonSet), fault: names && (() => `its pods stay Failed: ${named(names)}`) };
      });
    }
  }
}

function lossesOn(node: NodeWithRecord, policy: CompiledTaintPolicy): string {
  const { losses } = nodeDrift(node, [policy]);
  return `it lacks ${named(losses.map(({ taint, field }) => `${formatTaint(taint)} (${field})`))}`;
}

function missingIn(daemonSet: DaemonSetView, policy: CompiledTolerationPolicy): string {
  const policies = { tolerationPolicies: [policy] };
  const { violations } = judgeDaemonSet({ phase: 'validate', daemonSet }, policies);
  return `it lacks ${named(violations.map(({ subject, field }) => `toleration ${subject} (${field})`))}`;
}

const subjectOf = ({ namespace, name }: DaemonSetView): Subject => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  namespace,
  name,
});
const keyOf = ({ namespace, name }: DaemonSetView) => `${namespace}/${name}`;
const named = (what: readonly string[]) => atMost(MAX_NAMED, what).join(', ');

/** Writes the reports from the latest evaluation, less often than statuses are written. */
export function startClusterReports(
  run: Run,
  { evaluations, ...options }: ClusterReportsOptions & { readonly evaluations: Source<Evaluation> },
): Controller {
  let latest: Evaluation | undefined;
  const write = reportWriter(options, () => latest, run.log);
  const reconciler = startController(run, 'cluster-reports', write, { pauseMs: PAUSE_MS });
  options.rights.changes.subscribe(() => reconciler.restart(), run.signal);
  evaluations.subscribe((evaluation) => {
    latest = evaluation;
    reconciler.trigger();
  }, run.signal);
  return reconciler;
}
