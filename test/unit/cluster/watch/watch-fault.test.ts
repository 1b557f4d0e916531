import { expect, it } from 'vitest';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import { watchFault } from '../../../../src/cluster/watch/watch-fault.ts';

it.each([
  { path: '/api/v1/nodes', rule: 'a ClusterRole with apiGroups [""], resources ["nodes"]' },
  { path: '/api/v1/namespaces', rule: 'a ClusterRole with apiGroups [""], resources ["namespaces"]' },
  { path: '/apis/apps/v1/daemonsets', rule: 'a ClusterRole with apiGroups ["apps"], resources ["daemonsets"]' },
  {
    path: '/api/v1/namespaces/taintkeeper/secrets',
    rule: 'a Role in namespace taintkeeper with apiGroups [""], resources ["secrets"]',
  },
  {
    path: '/apis/coordination.k8s.io/v1/namespaces/x/leases',
    rule: 'a Role in namespace x with apiGroups ["coordination.k8s.io"], resources ["leases"]',
  },
])('advises the rule that $path needs', ({ path, rule }) => {
  const [kind, message] = watchFault(new ApiError('GET', path, 403, 'Forbidden', 'no'), path);
  expect(kind).toBe('forbidden');
  expect(message).toBe(
    `not allowed to watch ${path}, what was known stays in use: allow it by ${rule}, verbs ["list", "watch"] (GET ${path}: 403 Forbidden: no)`,
  );
});

it.each([
  {
    error: new ApiError('GET', '/p', 404, 'NotFound', 'none'),
    kind: 'not found',
    says: 'is the CustomResourceDefinition installed?',
  },
  {
    error: new ApiError('GET', '/p', 500, '', 'oops'),
    kind: '500',
    says: 'cannot watch /p, what was known stays in use: GET /p: 500: oops',
  },
  { error: new Error('GET /p: connect ECONNREFUSED'), kind: 'unreachable', says: 'GET /p: connect ECONNREFUSED' },
])('calls $error.message $kind', ({ error, kind, says }) => {
  const [found, message] = watchFault(error, '/p');
  expect(found).toBe(kind);
  expect(message).toContain(says);
});
