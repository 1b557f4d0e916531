import type { ControlPlane } from '../control-plane/control-plane.ts';
import { succeeded } from '../control-plane/rest.ts';
import { admin, type User } from '../control-plane/users.ts';

/** An ordinary user besides the developer. */
export const SOMEBODY: User = { name: 'somebody@example.com', groups: [] };

/** Lets the users create and change pods, and what pods are made of. */
export async function permitPods(cp: ControlPlane, users: readonly User[], name = 'pods'): Promise<void> {
  await bind(cp, name, users.map(asSubject), [
    { apiGroups: [''], resources: ['pods'], verbs: ['*'] },
    { apiGroups: ['apps', 'batch'], resources: ['*'], verbs: ['*'] },
  ]);
}

type Subject =
  | { readonly kind: 'ServiceAccount'; readonly namespace: string; readonly name: string }
  | { readonly kind: 'User' | 'Group'; readonly name: string };

function asSubject({ name }: User): Subject {
  return { kind: 'User', name };
}

/** Lets somebody tolerate a key. */
export async function mayTolerate(cp: ControlPlane, key: string, subject: Subject): Promise<void> {
  const rule = { apiGroups: ['taintkeeper.dev'], resources: ['taints'], resourceNames: [key], verbs: ['tolerate'] };
  await bind(cp, `tolerate:${key.replaceAll('/', ':')}:${subject.name}`, [subject], [rule]);
}

async function bind(cp: ControlPlane, name: string, subjects: readonly Subject[], rules: readonly object[]) {
  const apiGroup = 'rbac.authorization.k8s.io';
  const metadata = { name };
  const objects = {
    clusterroles: { metadata, rules },
    clusterrolebindings: {
      metadata,
      roleRef: { apiGroup, kind: 'ClusterRole', name },
      subjects: subjects.map((subject) => (subject.kind === 'ServiceAccount' ? subject : { ...subject, apiGroup })),
    },
  };
  for (const [resource, body] of Object.entries(objects)) {
    await succeeded(cp.request(admin, 'POST', `/apis/${apiGroup}/v1/${resource}`, { body }));
  }
}
