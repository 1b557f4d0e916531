import type { ApiClient } from '../../cluster/client/api-client.ts';
import { ApiError } from '../../cluster/client/api-error.ts';
import { type DaemonPodOwner, listDaemonPods } from '../../cluster/daemon-pods.ts';
import { policiesInForce, runsInAudit } from '../../cluster/policy-object.ts';
import { listObjects } from '../../cluster/watch/list-pages.ts';
import { type PoliciesWaitingFor, policiesWaitingFor } from '../../coverage/startup-deadlock.ts';
import type { InstalledDaemonSet, Workload } from '../../coverage/workload.ts';
import { notesOnUnusable } from '../../explain/sections.ts';
import { locateField, readEachFile, type SourceDocument } from '../../files/documents.ts';
import { isKind, objectsOf, readNamed } from '../../files/kubernetes-objects.ts';
import { InputError } from '../../files/text-files.ts';
import type { LabelSelector } from '../../kubernetes/label-selector.ts';
import { matchesPattern } from '../../kubernetes/pattern.ts';
import { asDaemonSet, refusedTolerations, viewDaemonSet } from '../../objects/daemon-set-object.ts';
import { asNode, viewNode } from '../../objects/node-object.ts';
import { controllerOf, viewPriority, viewScheduling } from '../../objects/workload-object.ts';
import { POLICY_API_VERSION, type Policy, type PolicyKind, parsePolicy } from '../../policy/policy.ts';
import { type CompiledTolerationPolicy, compilePolicies } from '../../policy/policy-set.ts';
import type { Path } from '../../policy/problem.ts';
import type { SchedulingNode } from '../../scheduling/coverage.ts';
import { isPluginDirectory } from '../../scheduling/node-critical.ts';
import { type DaemonSetCounts, type Placement, placementByStatus } from '../../scheduling/placement.ts';
import { atCluster, installedPolicies } from '../cluster-options.ts';
import { withProgress } from '../output/stderr.ts';
import { absentNamespace, pathsOf, type SelectionOptions, type SourceOptions } from './options.ts';
import { listWorkloads, readWorkload } from './workloads.ts';

/** The input of coverage. */
export interface CoverageInput {
  readonly daemonSets: readonly InstalledDaemonSet[];
  readonly nodes: readonly SchedulingNode[];
  /** No entry for a DaemonSet whose pods were not read. */
  readonly placements: ReadonlyMap<InstalledDaemonSet, Placement>;
  /** DaemonSets that the API server would refuse. They are not among the others. */
  readonly refused: readonly RefusedDaemonSet[];
  /** Why files could not be read. */
  readonly unread: readonly string[];
  /** The TolerationPolicies in force, if requested. */
  readonly tolerationPolicies?: readonly CompiledTolerationPolicy[];
  /** Workloads other than DaemonSets, if requested. */
  readonly workloads: readonly Workload[];
  /** By the TaintPolicies in force. */
  readonly waits: PoliciesWaitingFor;
  /** What could not be read, and why. */
  readonly notes: readonly string[];
}

/** A DaemonSet of a file with a toleration that is not valid. */
export interface RefusedDaemonSet {
  readonly namespace: string;
  readonly name: string;
  /** One line for each problem: `file:line:column: field: message`. */
  readonly problems: readonly string[];
}

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
  /** The policies to read. */
  readonly policies: readonly PolicyKind[];
  /** Whether to find out about pods. Those of a DaemonSet whose status is inconsistent are read. */
  readonly pods?: boolean;
  /** Whether to read workloads other than DaemonSets. */
  readonly workloads?: boolean;
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
    const namespaceOfOthers = absentNamespace(namespace);
    const { found, faults } = await readEachFile(files, (documents) =>
      documents.flatMap((document) => readObjects(document, namespaceOfOthers)),
    );
    try {
      return choose(coverageFrom(found.flat(), faults), options, 'files');
    } catch (error) {
      // What is missing may be in a file that could not be read.
      throw error instanceof InputError ? new InputError([...faults, ...error.faults]) : error;
    }
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
  { policies, pods = false, workloads: reads = false }: ClusterReading,
): Promise<CoverageInput> {
  const notes: string[] = [];
  const [{ taintPolicies, tolerationPolicies }, workloads, nodes, ...lists] = await Promise.all([
    readPolicies(client, policies, notes),
    reads ? readOtherWorkloads(client, namespaces, notes) : [],
    listObjects(client, '/api/v1/nodes', (object) => readNode(object, [])),
    ...pathsOf('apps/v1', 'daemonsets', namespaces).map((path) => listObjects(client, path, readLiveDaemonSet)),
  ]);
  const live = lists.flat();
  const placements = new Map<InstalledDaemonSet, Placement>();
  if (pods) {
    const unclear = live.filter(({ daemonSet, counts }) => {
      const placement = placementByStatus(daemonSet, nodes, counts);
      if (placement) placements.set(daemonSet, placement);
      return placement === undefined;
    });
    notes.push(...(await placePods(client, unclear, placements)));
  }
  const waits = policiesWaitingFor(taintPolicies);
  const daemonSets = live.map(({ daemonSet }) => daemonSet);
  return { daemonSets, nodes, placements, refused: [], unread: [], tolerationPolicies, workloads, waits, notes };
}

/** None if taintkeeper is not installed. @param notes gets why some could not be read */
async function readPolicies(client: ApiClient, kinds: readonly PolicyKind[], notes: string[]) {
  const lists = kinds.map(async (kind) => {
    try {
      return await installedPolicies(client, kind);
    } catch (error) {
      if (error instanceof ApiError) notes.push(`${kind.replace(/y$/, 'ies')} were not read: ${error.message}`);
      else if (!(error instanceof InputError)) throw error;
      return [];
    }
  });
  const policies = (await Promise.all(lists)).flat();
  notes.push(...notesOnUnusable(policies));
  return compilePolicies(policiesInForce(policies), { audit: policies.some(runsInAudit) });
}

/** @param notes gets why they could not be read */
async function readOtherWorkloads(
  client: ApiClient,
  namespaces: readonly string[],
  notes: string[],
): Promise<readonly Workload[]> {
  try {
    return await listWorkloads(client, ['Deployment', 'StatefulSet', 'CronJob'], namespaces);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    notes.push(`workloads that tolerate drained or dead nodes are not shown: ${error.message}`);
    return [];
  }
}

/** @returns notes on the namespaces in which the API server did not list pods */
async function placePods(
  client: ApiClient,
  daemonSets: readonly LiveDaemonSet[],
  placements: Map<InstalledDaemonSet, Placement>,
): Promise<string[]> {
  const waiting = daemonSets.values();
  const refused = new Map<string, string>();
  const work = async () => {
    for (const { daemonSet, owner } of waiting) {
      try {
        placements.set(daemonSet, await listDaemonPods(client, owner));
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        refused.set(owner.namespace, error.message);
      }
    }
  };
  await Promise.all(Array.from({ length: MAX_AT_ONCE }, work));
  return [...refused].map(([namespace, message]) => `the pods in ${namespace} were not read: ${message}`);
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

/** An object of a file, with its place. */
type FileObject =
  | { readonly node: SchedulingNode; readonly place: string }
  | { readonly policy: ReturnType<typeof parsePolicy>; readonly place: string }
  | { readonly workload: Workload }
  | { readonly daemonSet: InstalledDaemonSet; readonly place: string; readonly problems: readonly string[] };

/**
 * The Nodes, workloads and TaintPolicies of a document.
 * @param namespace of the workloads that name none
 * @throws InputError for objects that cannot be read
 */
function readObjects(document: SourceDocument, namespace: string): FileObject[] {
  return objectsOf(document).flatMap(({ object, path }): FileObject[] => {
    const place = document.locate(path);
    if (isKind(object, 'v1', 'Node')) {
      return [{ node: readNamed(document, path, () => readNode(object, path)), place }];
    }
    if (isKind(object, POLICY_API_VERSION, 'TaintPolicy')) return [{ policy: parsePolicy(object), place }];
    if (!isKind(object, 'apps/v1', 'DaemonSet')) {
      const workload = readWorkload(document, object, path, namespace);
      return workload ? [{ workload }] : [];
    }
    const daemonSet = readNamed(document, path, () => readDaemonSet(object, path, namespace));
    const problems = refusedTolerations(asDaemonSet(object, path)).map(
      (problem) => `${locateField(document, [...path, ...problem.path])}: ${problem.message}`,
    );
    return [{ daemonSet, place, problems }];
  });
}

/** @throws InputError for objects that occur twice */
function coverageFrom(objects: readonly FileObject[], unread: readonly string[]): CoverageInput {
  const daemonSets = new Map<string, { daemonSet: InstalledDaemonSet; problems: readonly string[] }>();
  const nodes = new Map<string, SchedulingNode>();
  const workloads: Workload[] = [];
  const taintPolicies: Policy[] = [];
  const notes: string[] = [];
  for (const object of objects) {
    if ('node' in object) add(nodes, object.node.name, object.node, `${object.place}: Node`);
    else if ('workload' in object) workloads.push(object.workload);
    else if ('policy' in object) {
      if (object.policy.ok) taintPolicies.push(object.policy.policy);
      else notes.push(`${object.place}: TaintPolicy is left out: ${object.policy.problems[0]?.message}`);
    } else {
      const { namespace, name } = object.daemonSet;
      add(daemonSets, `${namespace}/${name}`, object, `${object.place}: DaemonSet`);
    }
  }
  const compared = [...daemonSets.values()];
  return {
    daemonSets: compared.filter(({ problems }) => problems.length === 0).map(({ daemonSet }) => daemonSet),
    refused: compared
      .filter(({ problems }) => problems.length > 0)
      .map(({ daemonSet: { namespace, name }, problems }) => ({ namespace, name, problems })),
    unread,
    nodes: [...nodes.values()],
    placements: new Map(),
    workloads,
    waits: policiesWaitingFor(compilePolicies(taintPolicies).taintPolicies),
    notes,
  };
}

/** @throws MalformedObjectError */
function readDaemonSet(object: unknown, path: Path, namespace: string): InstalledDaemonSet {
  const { annotations, labels } = viewDaemonSet(asDaemonSet(object, path), namespace, '');
  const { priorityClass, writes } = viewPriority(object, path);
  return {
    ...viewScheduling(object, path, namespace),
    annotations,
    labels,
    controller: controllerOf(object, path),
    priorityClass,
    pluginDirectories: writes.filter(isPluginDirectory),
  };
}

/** @throws MalformedObjectError */
function readNode(object: unknown, path: Path): SchedulingNode {
  const { name, labels, taints } = viewNode(asNode(object, path), '');
  return { name, labels, taints };
}

/**
 * Applies the selection, and sorts by name. A cluster can be without DaemonSets, but files cannot.
 * @throws InputError if nothing is selected
 */
function choose(
  input: CoverageInput,
  { namespace = [], daemonset = [], node = [] }: SelectionOptions,
  source: 'files' | 'cluster',
): CoverageInput {
  const isAsked = (patterns: readonly string[], name: string) =>
    patterns.length === 0 || patterns.some((pattern) => matchesPattern(pattern, name));
  const isChosen = (each: { readonly namespace: string; readonly name: string }) =>
    isAsked(namespace, each.namespace) && isAsked(daemonset, each.name);
  const daemonSets = input.daemonSets.filter(isChosen);
  const refused = input.refused.filter(isChosen);
  const nodes = input.nodes.filter(({ name }) => isAsked(node, name));
  const asked = [...namespace, ...daemonset];
  const isWhole = (patterns: readonly string[]) => source === 'cluster' && patterns.length === 0;
  if (daemonSets.length + refused.length === 0 && !isWhole(asked)) {
    throw new InputError([none('DaemonSet', asked, [...input.daemonSets, ...input.refused])]);
  }
  if (nodes.length === 0 && !isWhole(node)) throw new InputError([none('Node', node, input.nodes)]);
  return {
    ...input,
    notes: [
      ...input.notes,
      ...(daemonSets.length + refused.length === 0 ? ['the cluster has no DaemonSets'] : []),
      ...(nodes.length === 0 ? ['the cluster has no Nodes'] : []),
    ],
    refused,
    workloads: input.workloads.filter((each) => isAsked(namespace, each.namespace)),
    daemonSets: daemonSets.toSorted((a, b) => inOrder(a.namespace, b.namespace) || inOrder(a.name, b.name)),
    nodes: nodes.toSorted((a, b) => inOrder(a.name, b.name)),
  };
}

/** `w-2` before `w-10`. */
const inOrder = new Intl.Collator('en', { numeric: true }).compare;

function none(kind: string, asked: readonly string[], all: readonly unknown[]): string {
  return asked.length > 0
    ? `no ${kind} matches ${asked.join(', ')}; ${all.length} ${all.length === 1 ? 'was' : 'were'} compared`
    : `the files have no ${kind}: coverage compares Nodes with DaemonSets`;
}

function add<T>(objects: Map<string, T>, name: string, value: T, place: string): void {
  if (objects.has(name)) throw new InputError([`${place} ${name} is there twice`]);
  objects.set(name, value);
}
