import type { ApiClient } from '../cluster/client/api-client.ts';
import { ApiError, isForbidden } from '../cluster/client/api-error.ts';
import { findObject } from '../cluster/client/find-object.ts';
import { projectDaemonSet, projectNode } from '../cluster/cluster-objects.ts';
import { listDaemonPods, podStateOf } from '../cluster/daemon-pods.ts';
import { listDaemonPodsOn, listNodePods } from '../cluster/node-pods.ts';
import { policiesInForce, runsInAudit } from '../cluster/policy-object.ts';
import { listObjects } from '../cluster/watch/list-pages.ts';
import {
  type DaemonExplanation,
  explainDaemonSet,
  explainPod,
  type NamespacedName,
} from '../explain/explain-daemon.ts';
import { explainNode, type NodeExplanation } from '../explain/explain-node.ts';
import type { Facts, ToldEvent } from '../explain/sections.ts';
import { InputError } from '../files/text-files.ts';
import type { DaemonSetView } from '../judge/daemon-set-view.ts';
import type { CsiNodeView } from '../judge/startup/csi-drivers.ts';
import type { KnownDaemonSet } from '../judge/startup/daemon-readiness.ts';
import { leftOutOnNode, type StartupSources, startupBlockers } from '../judge/startup/startup-readiness.ts';
import { carriedStartup, type StartupRequirement, startupTaintsOf } from '../judge/startup/startup-requirement.ts';
import { startupStep } from '../judge/startup/startup-step.ts';
import { waitingText } from '../judge/startup/waiting-taint.ts';
import type { LabelSelector } from '../kubernetes/label-selector.ts';
import { formatSelector } from '../kubernetes/selector-overlap.ts';
import { formatTaint } from '../kubernetes/taint.ts';
import { atMost, shellWord } from '../kubernetes/text.ts';
import { viewCsiNode } from '../objects/csi-node-object.ts';
import { asDaemonSet, viewDaemonSet } from '../objects/daemon-set-object.ts';
import { asNode, viewNode } from '../objects/node-object.ts';
import { controllerOf } from '../objects/workload-object.ts';
import type { PolicyKind } from '../policy/policy.ts';
import { enforcedPolicies } from '../policy/policy-index.ts';
import { compilePolicies } from '../policy/policy-set.ts';
import { daemonSetName, needDaemonSets } from '../policy/ready-when.ts';
import type { SchedulingNode } from '../scheduling/coverage.ts';
import type { NodePod } from '../scheduling/intolerant-pods.ts';
import type { Placement } from '../scheduling/placement.ts';
import { installedPolicies } from './cluster-options.ts';

/** @throws InputError if there is no such node, ApiError, MalformedObjectError */
export async function readNodeExplanation(client: ApiClient, name: string): Promise<NodeExplanation> {
  const object = await readObject(client, `/api/v1/nodes/${encodeURIComponent(name)}`, `node ${name}`);
  const [facts, pods] = await Promise.all([
    readFacts(client, ['TaintPolicy'], { kind: 'Node', namespace: 'default', name }),
    readPods(client, name),
  ]);
  const waiting = await readWaiting(client, object, facts);
  return explainNode(object, name, {
    ...facts,
    pods: pods.pods,
    notes: [...facts.notes, ...pods.notes, ...waiting.notes],
    now: client.now().getTime(),
    ...(waiting.text === undefined ? {} : { startup: waiting.text }),
  });
}

/** What the startup taints of the node wait for, computed as the leader does. */
async function readWaiting(
  client: ApiClient,
  object: unknown,
  { policies, audit }: Facts,
): Promise<{ readonly text?: string; readonly notes: readonly string[] }> {
  const { taintPolicies } = compilePolicies(policiesInForce(policies), { audit });
  if (taintPolicies.every(({ untilReady }) => untilReady.length === 0)) return { notes: [] };
  const node = projectNode(object);
  const carried = carriedStartup(node, taintPolicies);
  if (carried.length === 0) return { notes: [] };
  try {
    const sources = await readStartupSources(client, node.name, carried);
    const step = startupStep(node, taintPolicies, {
      blockers: ({ parts }, startup) => startupBlockers(parts, node, sources, startup),
      awaited: [],
      isComplete: true,
      now: 0,
      apiTime: client.now().getTime(),
    });
    const removals = step.removable.map(
      ({ taint, reason }) => `startup taint ${formatTaint(taint)}: ${reason}, the leader removes it`,
    );
    const daemonSets = sources.daemonSets();
    const startup = startupTaintsOf(carried, enforcedPolicies(taintPolicies, node.labels));
    const leftOut =
      typeof daemonSets === 'string'
        ? []
        : carried.flatMap(({ parts }) => leftOutOnNode(parts, node, daemonSets.value, startup));
    return {
      text: [...removals, ...step.waiting.map(waitingText)].join('; '),
      notes: [...new Set(leftOut)].map((text) => `startup taints do not wait for ${text}`),
    };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return { notes: [`what startup taints wait for was not read: ${error.message}`] };
  }
}

/** What the startup taints of a node depend on. @throws ApiError */
async function readStartupSources(
  client: ApiClient,
  node: string,
  carried: readonly StartupRequirement[],
): Promise<StartupSources> {
  const named = carried.flatMap(({ parts }) => parts.daemonSets);
  const pods = carried.some(({ parts }) => needDaemonSets(parts)) ? await listDaemonPodsOn(client, node) : [];
  const needsCsiNode = carried.some(({ parts }) => parts.csiDrivers.length > 0);
  const csiNode = needsCsiNode ? await readCsiNode(client, node) : undefined;
  const existing = carried.some(({ parts }) => parts.allDaemonSets.length > 0)
    ? await listObjects(client, '/apis/apps/v1/daemonsets', knownDaemonSet)
    : (await Promise.all(named.map((one) => readDaemonSet(client, one)))).filter((one) => one !== undefined);
  const byName = new Map(existing.map((one) => [daemonSetName(one.value), one]));
  return {
    daemonSets: () => ({ value: { get: (one) => byName.get(daemonSetName(one)), all: () => existing } }),
    pods: () => ({ value: pods }),
    csiNode: () => ({ value: csiNode }),
  };
}

async function readCsiNode(client: ApiClient, node: string): Promise<CsiNodeView | undefined> {
  const object = await findObject(client, `/apis/storage.k8s.io/v1/csinodes/${encodeURIComponent(node)}`);
  return object === undefined ? undefined : viewCsiNode(object);
}

/** The pods of a node, or why they could not be read. @throws ApiError */
async function readPods(
  client: ApiClient,
  name: string,
): Promise<{ readonly pods: readonly NodePod[] | undefined; readonly notes: readonly string[] }> {
  try {
    return { pods: await listNodePods(client, name), notes: [] };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return { pods: undefined, notes: [`its pods were not read: ${error.message}`] };
  }
}

function knownDaemonSet(object: unknown): KnownDaemonSet {
  return { uid: (object as { metadata: { uid: string } }).metadata.uid, value: projectDaemonSet(object) };
}

async function readDaemonSet(client: ApiClient, place: NamespacedName): Promise<KnownDaemonSet | undefined> {
  const object = await findObject(client, pathOf('daemonset', place));
  return object === undefined ? undefined : knownDaemonSet(object);
}

const OF_DAEMONS = ['TolerationPolicy', 'RecoveryPolicy'] as const;

/** @throws InputError if there is no such DaemonSet, ApiError, MalformedObjectError */
export async function readDaemonSetExplanation(client: ApiClient, place: NamespacedName): Promise<DaemonExplanation> {
  const object = await readObject(client, pathOf('daemonset', place), `daemonset ${place.namespace}/${place.name}`);
  const [nodes, facts, pods] = await Promise.all([
    listNodes(client),
    readFacts(client, OF_DAEMONS, { kind: 'DaemonSet', ...place }),
    readPlacement(client, place, object),
  ]);
  const notes = [...facts.notes, ...pods.notes];
  return explainDaemonSet(object, place, { ...facts, nodes, notes, placement: pods.placement });
}

/** @throws InputError if there is no such pod, ApiError, MalformedObjectError */
export async function readPodExplanation(client: ApiClient, place: NamespacedName): Promise<DaemonExplanation> {
  const object = await readObject(client, pathOf('pod', place), `pod ${place.namespace}/${place.name}`);
  const [nodes, facts] = await Promise.all([
    listNodes(client),
    readFacts(client, [...OF_DAEMONS, 'TolerationRestriction'], { kind: 'Pod', ...place }),
  ]);
  const controller = controllerOf(object, []);
  const owner =
    controller?.kind === 'DaemonSet' ? await readOwner(client, { ...place, name: controller.name }) : undefined;
  return explainPod(object, place, owner, podStateOf(object), { ...facts, nodes });
}

/** Workloads that no policy selects, by their word on the command line. */
export const WORKLOADS = { deployment: 'deployments', statefulset: 'statefulsets', replicaset: 'replicasets' } as const;
export type Workload = keyof typeof WORKLOADS;

/** How many pods a message names. */
const MAX_PODS = 5;

/** Names the pods that can be explained in place of a workload. @throws InputError always, ApiError */
export async function refuseWorkload(
  client: ApiClient,
  kind: Workload,
  { namespace, name }: NamespacedName,
): Promise<never> {
  const place = `${kind} ${namespace}/${name}`;
  const path = `/apis/apps/v1/namespaces/${encodeURIComponent(namespace)}/${WORKLOADS[kind]}/${encodeURIComponent(name)}`;
  const { spec } = (await readObject(client, path, place)) as { readonly spec: { readonly selector: LabelSelector } };
  const pods = await listObjects(
    client,
    `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`,
    (pod) => ({
      name: `${namespace}/${(pod as { readonly metadata: { readonly name: string } }).metadata.name}`,
      isScheduled: podStateOf(pod).state === 'scheduled',
    }),
    { labelSelector: formatSelector(spec.selector) },
  );
  const [first, ...others] = pods
    .toSorted((a, b) => Number(a.isScheduled) - Number(b.isScheduled))
    .map((pod) => shellWord(pod.name));
  const refused = `explain ${place}: no policy is about a ${kind}`;
  if (first === undefined) {
    const describe = `kubectl describe -n ${shellWord(namespace)} ${kind} ${shellWord(name)}`;
    throw new InputError([`${refused}, and it has no pods to explain; see ${describe}`]);
  }
  const otherPods = others.length > 0 ? `; the others: ${atMost(MAX_PODS, others).join(', ')}` : '';
  throw new InputError([`${refused}; explain one of its pods: taintkeeper explain pod ${first}${otherPods}`]);
}

async function readFacts(client: ApiClient, kinds: readonly PolicyKind[], regarding: Regarding): Promise<Facts> {
  const [events, policies] = await Promise.all([readEvents(client, regarding), installedPolicies(client, ...kinds)]);
  return { policies, audit: policies.some(runsInAudit), ...events };
}

interface Regarding extends NamespacedName {
  readonly kind: string;
}

const MAX_EVENTS = 10;

/** Every user who may create Events can name taintkeeper as their controller. By core/v1, they need no time and no reason. */
interface EventObject {
  readonly reason?: string | null;
  readonly note?: string | null;
  readonly eventTime?: string | null;
  readonly series?: { readonly lastObservedTime?: string | null } | null;
}

/** The Events of taintkeeper on an object, the latest last. @param regarding a node's Events are in `default` */
async function readEvents(
  client: ApiClient,
  { kind, namespace, name }: Regarding,
): Promise<Pick<Facts, 'events' | 'notes'>> {
  const fieldSelector = `regarding.kind=${kind},regarding.name=${name},reportingController=taintkeeper.dev/taintkeeper`;
  try {
    const { items } = await client.request<{ items: EventObject[] }>(
      'GET',
      `/apis/events.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/events`,
      { query: { fieldSelector } },
    );
    const events = items.map(
      ({ reason, note, eventTime, series }): ToldEvent => ({
        time: series?.lastObservedTime ?? eventTime ?? '',
        reason: reason ?? '',
        note: note ?? '',
      }),
    );
    return { events: events.toSorted((a, b) => a.time.localeCompare(b.time)).slice(-MAX_EVENTS), notes: [] };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { events: [], notes: [`Events were not read: ${error.message}`] };
  }
}

/** @throws InputError if there is no such object, ApiError */
async function readObject(client: ApiClient, path: string, what: string): Promise<unknown> {
  const object = await findObject(client, path);
  if (object === undefined) throw new InputError([`${what}: not found`]);
  return object;
}

const RESOURCES = { daemonset: '/apis/apps/v1/namespaces', pod: '/api/v1/namespaces' } as const;

function pathOf(kind: keyof typeof RESOURCES, { namespace, name }: NamespacedName): string {
  return `${RESOURCES[kind]}/${encodeURIComponent(namespace)}/${kind}s/${encodeURIComponent(name)}`;
}

function listNodes(client: ApiClient): Promise<SchedulingNode[]> {
  return listObjects(client, '/api/v1/nodes', (object) => viewNode(asNode(object, []), ''));
}

/** Undefined if it was deleted: then no policy selects its pods. */
async function readOwner(client: ApiClient, place: NamespacedName): Promise<DaemonSetView | undefined> {
  const object = await findObject(client, pathOf('daemonset', place));
  return object === undefined ? undefined : viewDaemonSet(asDaemonSet(object, []), place.namespace, place.name);
}

/** Where the pods of a DaemonSet are, or why that could not be read. @throws ApiError */
async function readPlacement(
  client: ApiClient,
  { namespace }: NamespacedName,
  object: unknown,
): Promise<{ readonly placement: Placement | undefined; readonly notes: readonly string[] }> {
  const { metadata, spec } = object as { metadata: { uid: string }; spec: { selector: LabelSelector } };
  try {
    const placement = await listDaemonPods(client, { namespace, uid: metadata.uid, selector: spec.selector });
    return { placement, notes: [] };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return { placement: undefined, notes: [`its pods were not read: ${error.message}`] };
  }
}
