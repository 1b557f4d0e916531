import { beforeEach, expect, it, vi } from 'vitest';
import type { ApiClient, RequestOptions } from '../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import { startRoleOwnership } from '../../../../src/controllers/installation/role-ownership.ts';
import { captureLog } from '../../captured-log.ts';
import { startInTest } from '../run.ts';

const NAMESPACE = { apiVersion: 'v1', kind: 'Namespace', name: 'taintkeeper', uid: 'ns-1' };
const FORMER = { ...NAMESPACE, uid: 'ns-0' };
const OPERATOR = { apiVersion: 'operators.coreos.com/v1alpha1', kind: 'ClusterServiceVersion', name: 'tk', uid: 'csv' };

beforeEach(() => {
  vi.useFakeTimers();
  return () => vi.useRealTimers();
});

/** The owners that the controller sets on a ClusterRole, each time; and what it logs. */
async function ownersAfter(metadata: object, status = 200) {
  const owners: unknown[] = [];
  const client = {
    async request(method: string, path: string, options: RequestOptions = {}) {
      if (path === '/api/v1/namespaces/taintkeeper') return { metadata: { uid: NAMESPACE.uid } };
      if (method === 'GET') return { metadata: { uid: 'role', resourceVersion: '7', ...metadata } };
      const patch = options.body as { metadata: { ownerReferences: unknown } };
      expect(patch.metadata).toMatchObject({ uid: 'role', resourceVersion: '7' });
      owners.push(patch.metadata.ownerReferences);
      if (status !== 200) throw new ApiError(method, path, status, '', '');
      return {};
    },
  } as ApiClient;
  const { log, lines } = captureLog();
  const options = { client, clusterRole: 'taintkeeper', namespace: 'taintkeeper' };
  startInTest(log, (run) => startRoleOwnership(run, options));
  await vi.advanceTimersByTimeAsync(1_000);
  return { owners, messages: lines().map(({ msg }) => msg) };
}

it.each([
  { why: 'it has none', metadata: {}, owners: [[NAMESPACE]] },
  { why: 'it has one already', metadata: { ownerReferences: [NAMESPACE] }, owners: [] },
  { why: 'the namespace is another one of that name', metadata: { ownerReferences: [FORMER] }, owners: [[NAMESPACE]] },
  { why: 'another object owns it', metadata: { ownerReferences: [OPERATOR] }, owners: [] },
  {
    why: 'another object owns it as well, and it would stay until both owners are deleted',
    metadata: { ownerReferences: [NAMESPACE, OPERATOR] },
    owners: [[OPERATOR]],
  },
  {
    why: 'Argo CD tracks it, which deletes nothing that has an owner',
    metadata: { annotations: { 'argocd.argoproj.io/tracking-id': 'x' } },
    owners: [],
  },
  {
    why: 'Argo CD has begun to apply it',
    metadata: { ownerReferences: [NAMESPACE], managedFields: [{ manager: 'argocd-controller' }] },
    owners: [[]],
  },
])('the namespace owns the ClusterRole unless that would keep it from being deleted: $why', async (given) => {
  expect((await ownersAfter(given.metadata)).owners).toEqual(given.owners);
});

it('tries again soon after a conflict, and fails without the right', async () => {
  const { owners, messages } = await ownersAfter({}, 409);
  expect([owners.length > 1, messages]).toEqual([true, []]);
  expect((await ownersAfter({}, 403)).messages).toEqual([expect.stringContaining('403')]);
});
