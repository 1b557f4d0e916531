import type { ApiClient } from '../cluster/client/api-client.ts';

/** `metadata.ownerReferences`, if anything. */
export interface Ownership {
  readonly ownerReferences?: readonly {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly uid: string;
  }[];
}

/**
 * What makes an object go with the ClusterRole of that name; nothing without a name. An owner in a namespace would not do: garbage
 * collection takes such a reference of a cluster-scoped object for a broken one.
 * @throws ApiError
 */
export async function ownedByClusterRole(client: ApiClient, clusterRole: string | undefined): Promise<Ownership> {
  if (clusterRole === undefined) return {};
  const path = `/apis/rbac.authorization.k8s.io/v1/clusterroles/${clusterRole}`;
  const { metadata } = await client.request<{ metadata: { name: string; uid: string } }>('GET', path);
  const { name, uid } = metadata;
  return { ownerReferences: [{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name, uid }] };
}
