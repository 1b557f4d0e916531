import { type ClusterNode, projectNode } from '../../cluster/objects/cluster-objects.ts';
import { isOnlyLoadable } from '../../scheduling/only-loadable.ts';

/** A node as the leader sees it, and the fields that only checks read. */
export interface DoctorNode extends ClusterNode {
  /** The names in `status.images` of images that no registry has. By default a kubelet reports its 50 largest images. */
  readonly loadedImages?: readonly string[];
  /** `status.nodeInfo.kubeletVersion`, such as `v1.36.3`. Empty until the kubelet reports it. */
  readonly kubeletVersion: string;
  /** The message of its condition Ready, unless that is True. */
  readonly notReady?: string;
}

/** The node in a Node of the API server. */
export function viewDoctorNode(object: unknown): DoctorNode {
  const { status } = object as {
    status?: {
      nodeInfo?: { kubeletVersion?: string };
      images?: readonly { names?: readonly string[] | null }[] | null;
      conditions?: readonly { type: string; status: string; message?: string }[] | null;
    };
  };
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return {
    ...projectNode(object),
    ...(ready && ready.status !== 'True' ? { notReady: ready.message ?? '' } : {}),
    kubeletVersion: status?.nodeInfo?.kubeletVersion ?? '',
    loadedImages: (status?.images ?? []).flatMap(({ names }) => names ?? []).filter(isOnlyLoadable),
  };
}
