import type { DaemonPodOnNode } from '../../judge/startup/daemon-readiness.ts';
import { isDnsSubdomain } from '../../kubernetes/names.ts';
import {
  isFinished,
  isReady,
  isTerminating,
  MIRROR_ANNOTATION,
  type PodObject,
  podOwner,
  viewPodWrites,
} from '../../objects/pod-object.ts';
import type { NodePod } from '../../scheduling/intolerant-pods.ts';
import { isCniDirectory } from '../../scheduling/node-critical.ts';
import type { ApiClient } from '../client/api-client.ts';
import { listObjects } from '../list/list-objects.ts';

/**
 * The pods that run on a node: not those that have ended or are about to end, of which a node may have thousands, and not the
 * mirrors of static pods, which its kubelet runs whatever happens to these objects.
 * @throws ApiError, with status 403 if pods may not be listed; Error for an invalid name of a node, because a comma or an equals sign would change
 * the field selector
 */
export async function listNodePods(client: ApiClient, node: string): Promise<NodePod[]> {
  const pods = await listPodsOn(client, node, viewNodePod);
  return pods.filter((pod) => pod !== undefined);
}

/**
 * All pods of a node, as far as they show which DaemonSets are ready there: with those that have ended or are about to end, unlike {@link listNodePods}.
 * @throws as {@link listNodePods}
 */
export function listPodReadinessOn(client: ApiClient, node: string): Promise<DaemonPodOnNode[]> {
  return listPodsOn(client, node, viewPodReadiness);
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
  signal?: AbortSignal,
): Promise<T[]> {
  if (!isDnsSubdomain(node)) throw new Error(`not listing pods: ${JSON.stringify(node)} is no name of a node`);
  return listObjects(client, '/api/v1/pods', view, { fieldSelector: `spec.nodeName=${node}` }, signal);
}

/** Undefined for a pod that does not count: see {@link listNodePods}. */
function viewNodePod(object: unknown): NodePod | undefined {
  const pod = object as PodObject;
  const { namespace, name, annotations } = pod.metadata;
  const isMirror = annotations?.[MIRROR_ANNOTATION] !== undefined;
  if (isMirror || isFinished(pod) || isTerminating(pod)) return undefined;
  return { name: `${namespace}/${name}`, tolerations: pod.spec?.tolerations ?? [] };
}

function viewCniPod(object: unknown): CniPod | undefined {
  const pod = object as PodObject;
  if (isFinished(pod) || isTerminating(pod) || !viewPodWrites(object, []).some(isCniDirectory)) return undefined;
  return { namespace: pod.metadata.namespace ?? '', name: pod.metadata.name, isReady: isReady(pod) };
}

export function viewPodReadiness(object: unknown): DaemonPodOnNode {
  const pod = object as PodObject;
  return {
    namespace: pod.metadata.namespace ?? '',
    owner: podOwner(pod)?.uid,
    createdAt: Date.parse(pod.metadata.creationTimestamp ?? ''),
    isReady: isReady(pod),
    isTerminating: isTerminating(pod),
  };
}
