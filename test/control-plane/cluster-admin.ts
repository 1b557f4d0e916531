import type { ControlPlane } from './control-plane.ts';
import { succeeded } from './rest.ts';
import { admin } from './users.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';

/** Lets a user, a group or a ServiceAccount do what the rules say, in the whole cluster, by a ClusterRole of this name. */
export async function grantRules(
  cp: ControlPlane,
  name: string,
  subject: object,
  rules: readonly object[],
): Promise<void> {
  const metadata = { name };
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
  await succeeded(cp.request(admin, 'POST', `${RBAC}/clusterroles`, { body: { metadata, rules } }));
  const body = { metadata, roleRef, subjects: [subject] };
  await succeeded(cp.request(admin, 'POST', `${RBAC}/clusterrolebindings`, { body }));
}

/** Lets a user, or a group, do everything: then only admission stands in the way. */
export async function makeClusterAdmin(cp: ControlPlane, kind: 'User' | 'Group', name: string): Promise<void> {
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' };
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind, name }];
  const body = { metadata: { name: 'everything' }, roleRef, subjects };
  await succeeded(cp.request(admin, 'POST', `${RBAC}/clusterrolebindings`, { body }));
}
