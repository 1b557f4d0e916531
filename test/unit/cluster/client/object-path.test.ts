import { expect, it } from 'vitest';
import { namespacedPath } from '../../../../src/cluster/client/object-path.ts';

it.each([
  { what: 'a collection', path: namespacedPath('/api/v1', 'n', 'pods'), expected: '/api/v1/namespaces/n/pods' },
  {
    what: 'an object',
    path: namespacedPath('/apis/apps/v1', 'kube-system', 'daemonsets', 'cni.v2'),
    expected: '/apis/apps/v1/namespaces/kube-system/daemonsets/cni.v2',
  },
  {
    what: 'names that a user made up',
    path: namespacedPath('/api/v1', '../n', 'pods', 'a?b=c/d'),
    expected: '/api/v1/namespaces/..%2Fn/pods/a%3Fb%3Dc%2Fd',
  },
])('the path of $what', ({ path, expected }) => expect(path).toBe(expected));
