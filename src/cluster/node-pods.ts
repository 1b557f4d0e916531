import type { DaemonPodOnNode } from '../coverage/daemon-readiness.ts';
import { isCniDirectory } from '../coverage/node-critical.ts';
import type { UnboundPod } from '../evictions/eviction-pace.ts';
import type { NodePod } from '../evictions/node-pods.ts';
import { isDnsSubdomain } from '../kubernetes/label-selector.ts';
import {
  conditionOf,
  controllerOf,
  isFinished,
  isReady,
  isTerminating,
  type PodObject,
} from '../objects/pod-object.ts';
import { MIRROR_ANNOTATION, viewPodWrites } from '../objects/workload-object.ts';
import type { ApiClient } from './client/api-client.ts';
import { listObjects, listPages } from './watch/list-pages.ts';

/** The pods of a node are kept until all have been listed, and etcd accepts a pod with 100,000 tolerations. One with more may tolerate any taint. */
const MAX_TOLERATIONS = 256;

/**
 * The pods that are bound to a node and could be misplaced there: not those that have ended or are about to end, of which a node may have thousands, and
 * not the mirrors of static pods, which its kubelet runs whatever happens to these objects.
 * @throws ApiError, with status 403 if pods may not be listed; Error for an invalid name of a node, because a comma or an equals sign would change
 * the field selector
 */
export async function listNodePods(client: ApiClient, node: string, signal: AbortSignal): Promise<NodePod[]> {
  const pods = await listPodsOn(client, node, viewNodePod, signal);
  return pods.filter((pod) => pod !== undefined);
}

/**
 * The same pods, as far as they show which DaemonSets are ready there.
 * @throws as {@link listNodePods}
 */
export function listDaemonPodsOn(client: ApiClient, node: string, signal: AbortSignal): Promise<DaemonPodOnNode[]> {
  return listPodsOn(client, node, viewDaemonPod, signal);
}

/** A pod that installs or runs a CNI plugin. */
export interface CniPod {
  readonly namespace: string;
  readonly name: string;
  readonly isReady: boolean;
}

/**
 * The pods of the CNI on a node: they write to the directories of its plugins.
 * @throws as {@link listNodePods}
 */
export async function listCniPodsOn(client: ApiClient, node: string, signal: AbortSignal): Promise<CniPod[]> {
  const pods = await listPodsOn(client, node, viewCniPod, signal);
  return pods.filter((pod) => pod !== undefined);
}

async function listPodsOn<T>(
  client: ApiClient,
  node: string,
  view: (object: unknown) => T,
  signal: AbortSignal,
): Promise<T[]> {
  if (!isDnsSubdomain(node)) throw new Error(`not listing pods: ${JSON.stringify(node)} is no name of a node`);
  return listObjects(client, '/api/v1/pods', view, { fieldSelector: `spec.nodeName=${node}` }, signal);
}

/** Undefined for a pod that cannot be misplaced: see {@link listNodePods}. */
export function viewNodePod(object: unknown): NodePod | undefined {
  const pod = object as PodObject;
  const { namespace = '', name, uid = '', creationTimestamp = '', annotations, managedFields } = pod.metadata;
  const isMirror = annotations?.[MIRROR_ANNOTATION] !== undefined;
  const tolerations = pod.spec?.tolerations ?? [];
  if (isMirror || isFinished(pod) || isTerminating(pod) || tolerations.length > MAX_TOLERATIONS) return undefined;
  const bound = conditionOf(pod, 'PodScheduled', 'True');
  return {
    namespace,
    name,
    uid,
    tolerations,
    landedAt: Date.parse(bound?.lastTransitionTime ?? pod.status?.startTime ?? creationTimestamp),
    isScheduled: isScheduled(pod.spec?.schedulerName, managedFields),
  };
}

function viewCniPod(object: unknown): CniPod | undefined {
  const pod = object as PodObject;
  if (isFinished(pod) || isTerminating(pod) || !viewPodWrites(object, []).some(isCniDirectory)) return undefined;
  return { namespace: pod.metadata.namespace ?? '', name: pod.metadata.name, isReady: isReady(pod) };
}

export function viewDaemonPod(object: unknown): DaemonPodOnNode {
  const pod = object as PodObject;
  return {
    namespace: pod.metadata.namespace ?? '',
    owner: controllerOf(pod)?.uid,
    createdAt: Date.parse(pod.metadata.creationTimestamp ?? ''),
    isReady: isReady(pod),
    isTerminating: isTerminating(pod),
  };
}

/** Another scheduler may ignore taints. */
const DEFAULT_SCHEDULER = 'default-scheduler';

/** Binding leaves no entry in `managedFields`; who creates a pod with a `nodeName` owns that field. */
function isScheduled(
  schedulerName = DEFAULT_SCHEDULER,
  managedFields: PodObject['metadata']['managedFields'] = [],
): boolean {
  const namesNode = managedFields.some(({ fieldsV1 }) => fieldsV1?.['f:spec']?.['f:nodeName'] !== undefined);
  return schedulerName === DEFAULT_SCHEDULER && managedFields.length > 0 && !namesNode;
}

/** The maximum number to read: of more pods, most have no node either. */
const MAX_UNBOUND = 2_000;

/**
 * The pods that are Pending and bound to no node. Undefined for more than {@link MAX_UNBOUND}.
 * @throws ApiError, with status 403 where pods may not be listed
 */
export async function listUnboundPods(client: ApiClient, signal: AbortSignal): Promise<UnboundPod[] | undefined> {
  const query = { fieldSelector: 'status.phase=Pending,spec.nodeName=' };
  const found: UnboundPod[] = [];
  for await (const { items } of listPages(client, '/api/v1/pods', { query, signal })) {
    found.push(...items.map(viewUnboundPod));
    if (found.length > MAX_UNBOUND) return undefined;
  }
  return found;
}

function viewUnboundPod(object: unknown): UnboundPod {
  const pod = object as PodObject;
  return {
    name: `${pod.metadata.namespace}/${pod.metadata.name}`,
    createdAt: Date.parse(pod.metadata.creationTimestamp ?? ''),
    controller: controllerOf(pod)?.kind,
    gated: (pod.spec?.schedulingGates ?? []).length > 0,
  };
}
