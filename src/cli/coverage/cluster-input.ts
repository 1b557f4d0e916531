import type { ApiClient } from '../../cluster/client/api-client.ts';
import { ApiError } from '../../cluster/client/api-error.ts';
import { listObjects } from '../../cluster/list/list-objects.ts';
import { type DaemonPodOwner, readPlacement } from '../../cluster/nodes/daemon-pods.ts';
import { listNodes } from '../../cluster/nodes/nodes.ts';
import { policiesInForce, runsInAudit } from '../../cluster/policies/policy-object.ts';
import { startupRulesOf } from '../../coverage/startup-rules.ts';
import type { InstalledDaemonSet, Workload } from '../../coverage/workload.ts';
import { notesOnUnusable } from '../../explain/policy-problems.ts';
import type { LabelSelector } from '../../kubernetes/label-selector.ts';
import { viewInstalledDaemonSet } from '../../objects/workload-object.ts';
import type { PolicyKind } from '../../policy/policy.ts';
import { compilePolicies, type PolicySet } from '../../policy/policy-set.ts';
import type { SchedulingNode } from '../../scheduling/coverage.ts';
import { type DaemonSetCounts, type Placement, placementByStatus } from '../../scheduling/placement.ts';
import { pluralOf } from '../installed-policies.ts';
import type { CoverageInput, CoverageReading } from './coverage-input.ts';
import { policiesOfKind } from './policies-of-kind.ts';
import { listWorkloads, pathsOf } from './workloads.ts';

/** The number of parallel lists of pods. */
const MAX_AT_ONCE = 4;

/** A DaemonSet of the cluster, with its selector and status. */
interface LiveDaemonSet {
  readonly daemonSet: InstalledDaemonSet;
  readonly owner: DaemonPodOwner;
  readonly counts: DaemonSetCounts;
}

/** What was read, and notes on what could not be. */
interface Noted<T> {
  readonly value: T;
  readonly notes: readonly string[];
}

/**
 * The nodes and DaemonSets of a cluster.
 * @param namespaces of the DaemonSets; none: all
 * @throws ApiError, MalformedObjectError
 */
export async function readCluster(
  client: ApiClient,
  namespaces: readonly string[],
  reading: CoverageReading,
): Promise<CoverageInput> {
  const [policies, workloads, nodes, ...lists] = await Promise.all([
    compiledPolicies(client, reading.policies),
    reading.workloads ? readOtherWorkloads(client, namespaces) : undefined,
    listNodes(client),
    ...pathsOf('apps/v1', 'daemonsets', namespaces).map((path) => listObjects(client, path, readLiveDaemonSet)),
  ]);
  const live = lists.flat();
  const placements = reading.pods ? await readPlacements(client, live, nodes) : { value: new Map(), notes: [] };
  const { taintPolicies, tolerationPolicies } = policies.value;
  return {
    daemonSets: live.map(({ daemonSet }) => daemonSet),
    nodes,
    placements: placements.value,
    refused: [],
    unread: [],
    tolerationPolicies,
    ...(workloads ? { workloads: workloads.value } : {}),
    startup: startupRulesOf(taintPolicies),
    notes: [...policies.notes, ...(workloads?.notes ?? []), ...placements.notes],
  };
}

/** The policies in force, compiled. None if taintkeeper is not installed. */
async function compiledPolicies(client: ApiClient, kinds: readonly PolicyKind[]): Promise<Noted<PolicySet>> {
  const lists = await Promise.all(kinds.map(async (kind) => ({ kind, ...(await policiesOfKind(client, kind)) })));
  const policies = lists.flatMap(({ objects }) => objects);
  const unread = lists.flatMap(({ kind, problem }) =>
    problem === undefined ? [] : [`${pluralOf(kind)} were not read: ${problem}`],
  );
  return {
    value: compilePolicies(policiesInForce(policies), { audit: policies.some(runsInAudit) }),
    notes: [...unread, ...notesOnUnusable(policies)],
  };
}

async function readOtherWorkloads(
  client: ApiClient,
  namespaces: readonly string[],
): Promise<Noted<readonly Workload[]>> {
  try {
    return { value: await listWorkloads(client, ['Deployment', 'StatefulSet', 'CronJob'], namespaces), notes: [] };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { value: [], notes: [`workloads that tolerate drained or dead nodes are not shown: ${error.message}`] };
  }
}

/** Where the pods are, without the DaemonSets in namespaces where the API server does not list pods. */
async function readPlacements(
  client: ApiClient,
  daemonSets: readonly LiveDaemonSet[],
  nodes: readonly SchedulingNode[],
): Promise<Noted<ReadonlyMap<InstalledDaemonSet, Placement>>> {
  const placements = new Map<InstalledDaemonSet, Placement>();
  const unclear: LiveDaemonSet[] = [];
  for (const live of daemonSets) {
    const placement = placementByStatus(live.daemonSet, nodes, live.counts);
    if (placement) placements.set(live.daemonSet, placement);
    else unclear.push(live);
  }
  const waiting = unclear.values();
  const refused = new Map<string, string>();
  const work = async () => {
    for (const { daemonSet, owner } of waiting) {
      try {
        placements.set(daemonSet, await readPlacement(client, owner));
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        refused.set(owner.namespace, error.message);
      }
    }
  };
  await Promise.all(Array.from({ length: MAX_AT_ONCE }, work));
  const notes = [...refused].map(([namespace, message]) => `the pods in ${namespace} were not read: ${message}`);
  return { value: placements, notes };
}

function readLiveDaemonSet(object: unknown): LiveDaemonSet {
  const daemonSet = viewInstalledDaemonSet(object, [], '');
  const { metadata, spec, status } = object as {
    metadata: { uid: string; generation?: number };
    spec: { selector: LabelSelector };
    status?: {
      observedGeneration?: number;
      desiredNumberScheduled?: number;
      currentNumberScheduled?: number;
      numberMisscheduled?: number;
      numberUnavailable?: number;
    };
  };
  return {
    daemonSet,
    owner: { namespace: daemonSet.namespace, uid: metadata.uid, selector: spec.selector },
    counts: {
      generation: metadata.generation ?? 0,
      observedGeneration: status?.observedGeneration ?? 0,
      desired: status?.desiredNumberScheduled ?? 0,
      current: status?.currentNumberScheduled ?? 0,
      misscheduled: status?.numberMisscheduled ?? 0,
      unavailable: status?.numberUnavailable ?? 0,
    },
  };
}
