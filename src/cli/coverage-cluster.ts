import type { ApiClient } from '../cluster/client/api-client.ts';
import { ApiError, isForbidden } from '../cluster/client/api-error.ts';
import { type DaemonPodOwner, listDaemonPods } from '../cluster/daemon-pods.ts';
import { policiesInForce, runsInAudit } from '../cluster/policies.ts';
import { listObjects } from '../cluster/watch/list-pages.ts';
import { type DaemonSetCounts, type Placement, placementByStatus } from '../coverage/placement.ts';
import type { InstalledDaemonSet } from '../coverage/remedies.ts';
import { notesOnUnusable } from '../explain/sections.ts';
import { readDocuments } from '../files/documents.ts';
import { InputError } from '../files/text-files.ts';
import type { LabelSelector } from '../kubernetes/label-selector.ts';
import { isPattern } from '../kubernetes/pattern.ts';
import { compilePolicies } from '../policy/policy-set.ts';
import { atCluster, installedPolicies } from './cluster-options.ts';
import { type CoverageInput, choose, coverageFrom, readDaemonSet, readNode } from './coverage-input.ts';
import { absentNamespace, type SelectionOptions, type SourceOptions } from './coverage-options.ts';
import { withProgress } from './output.ts';

export const POD_CHOICES = ['auto', 'all', 'none'] as const;

/** Of which DaemonSets the pods are read. `auto`: those whose status differs from what was computed. */
export type PodChoice = (typeof POD_CHOICES)[number];

/** The number of parallel lists of pods. */
const MAX_AT_ONCE = 4;

/** A DaemonSet of the cluster, with its selector and status. */
interface LiveDaemonSet {
  readonly daemonSet: InstalledDaemonSet;
  readonly owner: DaemonPodOwner;
  readonly counts: DaemonSetCounts;
}

/** What to read besides nodes and DaemonSets. */
interface ClusterReading {
  readonly pods: PodChoice;
  /** Whether to read the TolerationPolicies. */
  readonly withPolicies: boolean;
}

/**
 * The selected nodes and DaemonSets of the files, or of a cluster if there are no files.
 * @throws InputError, ApiError, MalformedObjectError
 */
export async function readCoverage(
  files: readonly string[],
  options: SourceOptions & SelectionOptions,
  reading: ClusterReading,
): Promise<CoverageInput> {
  const { namespace = [] } = options;
  if (files.length > 0) {
    return choose(coverageFrom(await readDocuments(files), absentNamespace(namespace)), options, 'files');
  }
  const input = await atCluster(options, (client) =>
    withProgress('reading the cluster', readCluster(client, namespace, reading)),
  );
  return choose(input, options, 'cluster');
}

/** @param namespaces of the DaemonSets; none: all */
async function readCluster(
  client: ApiClient,
  namespaces: readonly string[],
  { pods, withPolicies }: ClusterReading,
): Promise<CoverageInput> {
  const notes: string[] = [];
  const [tolerationPolicies, nodes, ...lists] = await Promise.all([
    withPolicies ? readTolerationPolicies(client, notes) : [],
    listObjects(client, '/api/v1/nodes', (object) => readNode(object, [])),
    ...pathsOf(namespaces).map((path) => listObjects(client, path, readLiveDaemonSet)),
  ]);
  const live = lists.flat();
  const placements = new Map<InstalledDaemonSet, Placement>();
  const unclear = live.filter(({ daemonSet, counts }) => {
    const placement = pods === 'auto' ? placementByStatus(daemonSet, nodes, counts) : undefined;
    if (placement) placements.set(daemonSet, placement);
    return placement === undefined;
  });
  if (pods !== 'none') notes.push(...(await placePods(client, unclear, placements)));
  return { daemonSets: live.map(({ daemonSet }) => daemonSet), nodes, placements, tolerationPolicies, notes };
}

/** None if taintkeeper is not installed. @param notes gets why they could not be read */
async function readTolerationPolicies(client: ApiClient, notes: string[]) {
  try {
    const policies = await installedPolicies(client, 'TolerationPolicy');
    notes.push(...notesOnUnusable(policies));
    return compilePolicies(policiesInForce(policies), { audit: policies.some(runsInAudit) }).tolerationPolicies;
  } catch (error) {
    if (error instanceof ApiError) notes.push(`TolerationPolicies were not read: ${error.message}`);
    else if (!(error instanceof InputError)) throw error;
    return [];
  }
}

function pathsOf(namespaces: readonly string[]): string[] {
  if (namespaces.length === 0 || namespaces.some(isPattern)) return ['/apis/apps/v1/daemonsets'];
  return [...new Set(namespaces)].map(
    (namespace) => `/apis/apps/v1/namespaces/${encodeURIComponent(namespace)}/daemonsets`,
  );
}

/** @returns the namespaces whose pods the user may not list */
async function placePods(
  client: ApiClient,
  daemonSets: readonly LiveDaemonSet[],
  placements: Map<InstalledDaemonSet, Placement>,
): Promise<string[]> {
  const waiting = daemonSets.values();
  const forbidden = new Map<string, string>();
  const work = async () => {
    for (const { daemonSet, owner } of waiting) {
      try {
        placements.set(daemonSet, await listDaemonPods(client, owner));
      } catch (error) {
        if (!isForbidden(error)) throw error;
        forbidden.set(owner.namespace, error.message);
      }
    }
  };
  await Promise.all(Array.from({ length: MAX_AT_ONCE }, work));
  return [...forbidden].map(([namespace, message]) => `the pods in ${namespace} were not read: ${message}`);
}

function readLiveDaemonSet(object: unknown): LiveDaemonSet {
  const daemonSet = readDaemonSet(object, [], '');
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
