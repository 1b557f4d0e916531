import { expect, it } from 'vitest';
import type { ApiClient, RequestOptions } from '../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import { roleOwnership } from '../../../../src/controllers/installation/role-ownership.ts';
import { captureLog } from '../../captured-log.ts';

const NAMESPACE = { apiVersion: 'v1', kind: 'Namespace', name: 'taintkeeper', uid: 'ns-1' };
const FORMER = { ...NAMESPACE, uid: 'ns-0' };
const OPERATOR = { apiVersion: 'operators.coreos.com/v1alpha1', kind: 'ClusterServiceVersion', name: 'tk', uid: 'csv' };

/** A ClusterRole as it stands, and what the run makes of its owners; undefined: nothing. */
async function ownersAfter(metadata: object, status = 200): Promise<{ owners: unknown; againInMs: number }> {
  let owners: unknown;
  const client = {
    async request(method: string, path: string, options: RequestOptions = {}) {
      if (path === '/api/v1/namespaces/taintkeeper') return { metadata: { uid: NAMESPACE.uid } };
      if (method === 'GET') return { metadata: { uid: 'role', resourceVersion: '7', ...metadata } };
      if (status !== 200) throw new ApiError(method, path, status, '', '');
      const patch = options.body as { metadata: { ownerReferences: unknown } };
      expect(patch.metadata).toMatchObject({ uid: 'role', resourceVersion: '7' });
      owners = patch.metadata.ownerReferences;
      return {};
    },
  } as ApiClient;
  const { log } = captureLog();
  const againInMs = await roleOwnership({ client, clusterRole: 'taintkeeper', namespace: 'taintkeeper' }, log)();
  return { owners, againInMs };
}

it.each([
  { why: 'it has none', metadata: {}, owners: [NAMESPACE] },
  { why: 'it has one already', metadata: { ownerReferences: [NAMESPACE] }, owners: undefined },
  { why: 'the namespace is another one of that name', metadata: { ownerReferences: [FORMER] }, owners: [NAMESPACE] },
  { why: 'somebody else owns it', metadata: { ownerReferences: [OPERATOR] }, owners: undefined },
  {
    why: 'somebody else owns it as well, and it would stay until both are gone',
    metadata: { ownerReferences: [NAMESPACE, OPERATOR] },
    owners: [OPERATOR],
  },
  {
    why: 'Argo CD tracks it, which deletes nothing that has an owner',
    metadata: { annotations: { 'argocd.argoproj.io/tracking-id': 'x' } },
    owners: undefined,
  },
  {
    why: 'Argo CD has begun to apply it',
    metadata: { ownerReferences: [NAMESPACE], managedFields: [{ manager: 'argocd-controller' }] },
    owners: [],
  },
])('the namespace owns the ClusterRole unless that would keep it from being deleted: $why', async (given) => {
  expect((await ownersAfter(given.metadata)).owners).toEqual(given.owners);
});

it('somebody else was faster: it is looked at again soon', async () => {
  expect((await ownersAfter({}, 409)).againInMs).toBeLessThan(1_000);
  await expect(ownersAfter({}, 403)).rejects.toThrow(ApiError);
});
