import { type PlacedPod, type Placement, type PodState, placementOf } from '../coverage/placement.ts';
import type { LabelSelector, LabelSelectorRequirement } from '../kubernetes/label-selector.ts';
import type { ApiClient } from './client/api-client.ts';
import { listObjects } from './watch/list-pages.ts';

/** What says which pods are those of a DaemonSet. */
export interface DaemonPodOwner {
  readonly namespace: string;
  readonly uid: string;
  /** `spec.selector`. */
  readonly selector: LabelSelector;
}

/**
 * Where the pods of a DaemonSet are.
 * @throws ApiError, with status 403 where pods may not be listed
 */
export async function listDaemonPods(client: ApiClient, owner: DaemonPodOwner): Promise<Placement> {
  const path = `/api/v1/namespaces/${owner.namespace}/pods`;
  const labelSelector = formatSelector(owner.selector);
  const pods = await listObjects(client, path, (pod) => projectDaemonPod(pod, owner.uid), { labelSelector });
  return placementOf(pods.filter((pod) => pod !== undefined));
}

interface Pod {
  metadata: { deletionTimestamp?: string; ownerReferences?: readonly { uid: string; controller?: boolean }[] };
  spec: {
    nodeName?: string;
    affinity?: {
      nodeAffinity?: {
        requiredDuringSchedulingIgnoredDuringExecution?: {
          nodeSelectorTerms?: readonly { matchFields?: readonly { key: string; values?: readonly string[] }[] }[];
        };
      };
    };
  };
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    conditions?: readonly { type: string; status: string; message?: string }[];
  };
}

/** Undefined for what another controller owns. */
function projectDaemonPod(object: unknown, ownerUid: string): PlacedPod | undefined {
  const pod = object as Pod;
  const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller);
  const node = targetNode(pod);
  return owner?.uid === ownerUid && node ? { node, state: stateOf(pod) } : undefined;
}

/** What there is of a pod, and the node that it is bound to, or made for. */
export function podStateOf(object: unknown): {
  node: string | undefined;
  state: PodState['state'];
  why: string | undefined;
} {
  const pod = object as Pod;
  const found = stateOf(pod);
  return { node: targetNode(pod), state: found.state, why: found.state === 'scheduled' ? undefined : found.why };
}

/** `GetTargetNodeName` of k8s.io/kubernetes/pkg/controller/daemon/util: the node that the pod is bound to, or made for. */
function targetNode({ spec }: Pod): string | undefined {
  if (spec.nodeName) return spec.nodeName;
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const fields = terms.flatMap(({ matchFields }) => matchFields ?? []);
  return fields.find(({ key }) => key === 'metadata.name')?.values?.[0];
}

function stateOf({ metadata, spec, status = {} }: Pod): PodState {
  const { phase, reason, message, conditions = [] } = status;
  if (metadata.deletionTimestamp) return { state: 'deleting', why: 'its pod is being deleted' };
  if (phase === 'Failed' || phase === 'Succeeded') {
    return { state: 'failed', why: [`its pod has ${phase}`, reason ?? message].filter(Boolean).join(': ') };
  }
  if (spec.nodeName) return { state: 'scheduled' };
  const unbound = conditions.find(({ type, status }) => type === 'PodScheduled' && status === 'False');
  return { state: 'pending', why: ['its pod is not scheduled', unbound?.message].filter(Boolean).join(': ') };
}

/** A selector as the query parameter `labelSelector` takes it. */
export function formatSelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const equal = Object.entries(matchLabels).map(([key, value]) => `${key}=${value ?? ''}`);
  return [...equal, ...matchExpressions.map(formatRequirement)].join(',');
}

function formatRequirement({ key, operator, values = [] }: LabelSelectorRequirement): string {
  switch (operator) {
    case 'In':
      return `${key} in (${values.join(',')})`;
    case 'NotIn':
      return `${key} notin (${values.join(',')})`;
    case 'Exists':
      return key;
    case 'DoesNotExist':
      return `!${key}`;
  }
}
