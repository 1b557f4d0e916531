import type { CsiNodeView } from '../judge/startup/csi-drivers.ts';

/** The path of all CSINodes at the API server. */
export const CSI_NODES = '/apis/storage.k8s.io/v1/csinodes';

/** The part of a CSINode (storage.k8s.io/v1) that is read. */
interface CsiNodeObject {
  readonly metadata: {
    readonly ownerReferences?: readonly { readonly kind?: string; readonly uid?: string }[] | null;
  };
  readonly spec?: { readonly drivers?: readonly { readonly name?: string }[] | null } | null;
}

/** The most drivers that are kept. A kubelet can write more, and a node has a few. */
const MAX_DRIVERS = 64;

/** The fields that startup taints depend on. */
export function viewCsiNode(object: unknown): CsiNodeView {
  const { metadata, spec } = object as CsiNodeObject;
  return {
    owner: metadata.ownerReferences?.find(({ kind }) => kind === 'Node')?.uid,
    drivers: (spec?.drivers ?? []).slice(0, MAX_DRIVERS).flatMap(({ name }) => name ?? []),
  };
}
