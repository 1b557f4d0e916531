import type { BindingView, RoleView } from '../coverage/broad-grants.ts';
import type { ApiClient } from './client/api-client.ts';
import { listObjects } from './watch/list-pages.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';

/** All cluster-wide grants of RBAC, with their subjects. */
export interface ClusterGrants {
  readonly roles: readonly RoleView[];
  readonly bindings: readonly BindingView[];
}

/** @throws ApiError, Error */
export async function listGrants(client: ApiClient): Promise<ClusterGrants> {
  const [roles, bindings] = await Promise.all([
    listObjects(client, `${RBAC}/clusterroles`, viewRole),
    listObjects(client, `${RBAC}/clusterrolebindings`, viewBinding),
  ]);
  return { roles, bindings };
}

function viewRole(object: unknown): RoleView {
  const { metadata, rules } = object as { metadata: { name: string }; rules?: RoleView['rules'] | null };
  return { name: metadata.name, rules: rules ?? [] };
}

function viewBinding(object: unknown): BindingView {
  const { metadata, roleRef, subjects } = object as {
    metadata: { name: string };
    roleRef: { name: string };
    subjects?: BindingView['subjects'];
  };
  return { name: metadata.name, role: roleRef.name, subjects: subjects ?? [] };
}
