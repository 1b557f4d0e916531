import { APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH } from '../control-plane/content-types.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { User } from '../control-plane/users.ts';
import { type Attempt, attempt, getNode, kubectl, OTHER, path } from './nodes.ts';

/** A way to make a node lose its taint dedicated=gpu:NoSchedule, or that value of it. */
type Losing = (cp: ControlPlane, name: string, user: User) => Promise<Attempt>;

/** Every way there is for a client to write a node. */
export const LOSING: Record<string, Losing> = {
  'kubectl taint node n key-': (cp, name, user) => kubectl(cp, user, ['taint', 'node', name, 'dedicated-']),
  'kubectl taint node n key:Effect-': (cp, name, user) =>
    kubectl(cp, user, ['taint', 'node', name, 'dedicated:NoSchedule-']),
  'another value': (cp, name, user) =>
    kubectl(cp, user, ['taint', 'node', name, 'dedicated=cpu:NoSchedule', '--overwrite']),
  'kubectl replace': async (cp, name, user) => {
    const { metadata } = await getNode(cp, name);
    const object = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, labels: metadata.labels },
      spec: { taints: [OTHER] },
    };
    return kubectl(cp, user, ['replace', '-f', '-'], JSON.stringify(object));
  },
  'a strategic merge patch': (cp, name, user) =>
    attempt(cp, user, 'PATCH', path(name), { spec: { taints: [OTHER] } }, STRATEGIC_MERGE_PATCH),
  'a merge patch': (cp, name, user) => attempt(cp, user, 'PATCH', path(name), { spec: { taints: null } }, MERGE_PATCH),
  'a JSON patch': (cp, name, user) =>
    attempt(cp, user, 'PATCH', path(name), [{ op: 'remove', path: '/spec/taints/0' }], JSON_PATCH),
  'a PUT': async (cp, name, user) => {
    const object = await getNode(cp, name);
    return attempt(cp, user, 'PUT', path(name), { ...object, spec: { ...object.spec, taints: [] } });
  },
  'a server-side apply': (cp, name, user) =>
    attempt(
      cp,
      user,
      'PATCH',
      `${path(name)}?fieldManager=somebody&force=true`,
      { apiVersion: 'v1', kind: 'Node', metadata: { name }, spec: { taints: [OTHER] } },
      APPLY_PATCH,
    ),
  'an update that leaves the policy at the same time': (cp, name, user) =>
    attempt(
      cp,
      user,
      'PATCH',
      path(name),
      { metadata: { labels: { pool: null } }, spec: { taints: null } },
      MERGE_PATCH,
    ),
};
