import type { ApiClient } from '../cluster/client/api-client.ts';

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

/** `metadata.ownerReferences`; empty for no owner. */
export interface Ownership {
  readonly ownerReferences?: readonly OwnerReference[];
}

export function clusterRolePath(name: string): string {
  return `/apis/rbac.authorization.k8s.io/v1/clusterroles/${name}`;
}

/**
 * The ClusterRole of that name as the owner of objects; no owner without a name. An owner with a namespace is not possible: garbage collection
 * treats such a reference of a cluster-scoped object as broken.
 * @throws ApiError
 */
export async function ownedByClusterRole(client: ApiClient, clusterRole: string | undefined): Promise<Ownership> {
  if (clusterRole === undefined) return {};
  const { metadata } = await client.request<{ metadata: { name: string; uid: string } }>(
    'GET',
    clusterRolePath(clusterRole),
  );
  const { name, uid } = metadata;
  return { ownerReferences: [{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name, uid }] };
}
