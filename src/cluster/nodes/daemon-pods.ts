import type { LabelSelector } from '../../kubernetes/label-selector.ts';
import { formatSelector } from '../../kubernetes/selector-overlap.ts';
import { isFinished, isTerminating, type PodObject, podCondition, podOwner } from '../../objects/pod-object.ts';
import { type PlacedPod, type Placement, type PodState, placementOf } from '../../scheduling/placement.ts';
import type { ApiClient } from '../client/api-client.ts';
import { namespacedPath } from '../client/object-path.ts';
import { listObjects } from '../list/list-objects.ts';

/** What identifies the pods of a DaemonSet. */
export interface DaemonPodOwner {
  readonly namespace: string;
  readonly uid: string;
  /** `spec.selector`. */
  readonly selector: LabelSelector;
}

/** A request with a URL of a megabyte is refused. The selector only spares the pods of others, which count for nothing. In characters. */
const MAX_SELECTOR_LENGTH = 16_384;

/**
 * Where the pods of a DaemonSet are.
 * @throws ApiError, with status 403 where pods may not be listed
 */
export async function readPlacement(client: ApiClient, owner: DaemonPodOwner): Promise<Placement> {
  const path = namespacedPath('/api/v1', owner.namespace, 'pods');
  const labelSelector = formatSelector(owner.selector);
  const query = labelSelector.length > MAX_SELECTOR_LENGTH ? {} : { labelSelector };
  const pods = await listObjects(client, path, (pod) => viewPlacedPod(pod, owner.uid), query);
  return placementOf(pods.filter((pod) => pod !== undefined));
}

/** Undefined for a pod of another controller. */
function viewPlacedPod(object: unknown, ownerUid: string): PlacedPod | undefined {
  const pod = object as PodObject;
  const node = targetNode(pod);
  return podOwner(pod)?.uid === ownerUid && node ? { node, state: stateOf(pod) } : undefined;
}

/** The state of a pod, and the node that it is bound to or intended for. The DaemonSet controller replaces pods of any final phase. */
export function podStateOf(object: unknown): {
  node: string | undefined;
  state: PodState['state'] | 'completed';
  why: string | undefined;
} {
  const pod = object as PodObject;
  const node = targetNode(pod);
  if (pod.status?.phase === 'Succeeded' && podOwner(pod)?.kind !== 'DaemonSet') {
    return { node, state: 'completed', why: undefined };
  }
  const found = stateOf(pod);
  return { node, state: found.state, why: found.state === 'scheduled' ? undefined : found.why };
}

/** Whether nothing is to be done for the pod: it is on its node, or has completed. */
export function isSettled({ state }: Pick<ReturnType<typeof podStateOf>, 'state'>): boolean {
  return state === 'scheduled' || state === 'completed';
}

/** `GetTargetNodeName` of k8s.io/kubernetes/pkg/controller/daemon/util: the node that the pod is bound to or intended for. */
function targetNode({ spec = {} }: PodObject): string | undefined {
  if (spec.nodeName) return spec.nodeName;
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const fields = terms.flatMap(({ matchFields }) => matchFields ?? []);
  return fields.find(({ key }) => key === 'metadata.name')?.values?.[0];
}

function stateOf(pod: PodObject): PodState {
  const { phase, reason, message } = pod.status ?? {};
  if (isTerminating(pod)) return { state: 'deleting', why: 'its pod is being deleted' };
  if (isFinished(pod)) {
    return { state: 'failed', why: [`its pod has ${phase}`, reason ?? message].filter(Boolean).join(': ') };
  }
  if (pod.spec?.nodeName) return { state: 'scheduled' };
  const unbound = podCondition(pod, 'PodScheduled', 'False');
  return { state: 'pending', why: ['its pod is not scheduled', unbound?.message].filter(Boolean).join(': ') };
}
