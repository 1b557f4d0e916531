import { expect, it, vi } from 'vitest';
import type { ApiClient } from '../../../../src/cluster/client/api-client.ts';
import { listNodePods } from '../../../../src/cluster/nodes/node-pods.ts';

const POD = {
  metadata: { namespace: 'default', name: 'a', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: {},
};
const withMetadata = (part: object) => ({ ...POD, metadata: { ...POD.metadata, ...part } });

const listing = (...items: object[]) => {
  const request = vi.fn(async () => ({ metadata: { resourceVersion: '1' }, items }));
  return listNodePods({ request } as unknown as ApiClient, 'n1');
};

it.each<{ what: string; object: object; view: object }>([
  { what: 'without tolerations', object: POD, view: { name: 'default/a', tolerations: [] } },
  { what: 'with null in their place', object: { ...POD, spec: { tolerations: null } }, view: { tolerations: [] } },
  {
    what: 'with tolerations',
    object: { ...POD, spec: { tolerations: [{ operator: 'Exists' }] } },
    view: { tolerations: [{ operator: 'Exists' }] },
  },
])('a pod $what', async ({ object, view }) => expect(await listing(object)).toMatchObject([view]));

it.each<{ what: string; object: object }>([
  { what: 'stands for a static one', object: withMetadata({ annotations: { 'kubernetes.io/config.mirror': 'hash' } }) },
  { what: 'has failed', object: { ...POD, status: { phase: 'Failed' } } },
  { what: 'has succeeded', object: { ...POD, status: { phase: 'Succeeded' } } },
  { what: 'is about to end', object: withMetadata({ deletionTimestamp: '2026-01-01T00:00:09Z' }) },
])('a pod that $what does not count', async ({ object }) =>
  expect(await listing(object, POD)).toEqual([{ name: 'default/a', tolerations: [] }]),
);

it.each([{ name: 'n1' }, { name: 'ip-10-0-0-1.eu-west-1.compute.internal' }])(
  'the pods of node $name are listed by their node',
  async ({ name }) => {
    const request = vi.fn(async () => ({ metadata: { resourceVersion: '1' }, items: [] }));
    await listNodePods({ request } as unknown as ApiClient, name);
    expect(request).toHaveBeenCalledExactlyOnceWith(
      'GET',
      '/api/v1/pods',
      expect.objectContaining({ query: expect.objectContaining({ fieldSelector: `spec.nodeName=${name}` }) }),
    );
  },
);

it.each(['n1,metadata.namespace=kube-system', 'n1,', 'spec.nodeName!=n1', 'N1', '', 'n'.repeat(254)])(
  'no pods are listed for %j, which is no name of a node',
  async (name) => {
    const request = vi.fn();
    const listing = listNodePods({ request } as unknown as ApiClient, name);
    await expect(listing).rejects.toThrow('is no name of a node');
    expect(request).not.toHaveBeenCalled();
  },
);
