import type { ControlPlane } from './control-plane.ts';
import { succeeded } from './rest.ts';
import { admin } from './users.ts';

/** Lets a user, or a group, do everything: then only admission stands in the way. */
export async function makeClusterAdmin(cp: ControlPlane, kind: 'User' | 'Group', name: string): Promise<void> {
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' };
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind, name }];
  const body = { metadata: { name: 'everything' }, roleRef, subjects };
  const url = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
  await succeeded(cp.request(admin, 'POST', url, { body }));
}
