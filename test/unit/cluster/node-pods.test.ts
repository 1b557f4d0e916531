import { expect, it, vi } from 'vitest';
import type { ApiClient } from '../../../src/cluster/client/api-client.ts';
import { listNodePods, viewNodePod } from '../../../src/cluster/node-pods.ts';

const POD = {
  metadata: {
    namespace: 'default',
    name: 'a',
    uid: 'u',
    creationTimestamp: '2026-01-01T00:00:00Z',
    managedFields: [{ fieldsV1: { 'f:spec': { 'f:containers': {} } } }],
  },
  spec: {},
};
const bound = { type: 'PodScheduled', status: 'True', lastTransitionTime: '2026-01-01T00:00:05Z' };
const withMetadata = (part: object) => ({ ...POD, metadata: { ...POD.metadata, ...part } });

it.each<{ what: string; object: object; view: object }>([
  {
    what: 'bound by the scheduler',
    object: { ...POD, status: { phase: 'Running', startTime: '2026-01-01T00:00:06Z', conditions: [bound] } },
    view: { landedAt: Date.parse('2026-01-01T00:00:05Z'), isScheduled: true },
  },
  {
    what: 'that names its node itself',
    object: withMetadata({ managedFields: [{ fieldsV1: { 'f:spec': { 'f:nodeName': {} } } }] }),
    view: { landedAt: Date.parse('2026-01-01T00:00:00Z'), isScheduled: false },
  },
  {
    what: 'of another scheduler, which may not heed taints',
    object: { ...POD, spec: { schedulerName: 'volcano' } },
    view: { isScheduled: false },
  },
  {
    what: 'of the default scheduler',
    object: { ...POD, spec: { schedulerName: 'default-scheduler' } },
    view: { isScheduled: true },
  },
  {
    what: 'of which it is not known who wrote what',
    object: { ...withMetadata({ managedFields: undefined }), status: { startTime: '2026-01-01T00:00:06Z' } },
    view: { landedAt: Date.parse('2026-01-01T00:00:06Z'), isScheduled: false },
  },
  {
    what: 'that waited, and was not bound then',
    object: { ...POD, status: { conditions: [{ ...bound, status: 'False' }] } },
    view: { landedAt: Date.parse('2026-01-01T00:00:00Z') },
  },
  {
    what: 'with tolerations',
    object: { ...POD, spec: { tolerations: [{ operator: 'Exists' }] } },
    view: { tolerations: [{ operator: 'Exists' }] },
  },
])('a pod $what', ({ object, view }) => expect(viewNodePod(object)).toMatchObject(view));

it.each<{ what: string; object: object }>([
  { what: 'stands for a static one', object: withMetadata({ annotations: { 'kubernetes.io/config.mirror': 'hash' } }) },
  { what: 'has failed', object: { ...POD, status: { phase: 'Failed' } } },
  { what: 'has succeeded', object: { ...POD, status: { phase: 'Succeeded' } } },
  { what: 'is about to end', object: withMetadata({ deletionTimestamp: '2026-01-01T00:00:09Z' }) },
  {
    what: 'has too many tolerations to compare',
    object: { ...POD, spec: { tolerations: Array(257).fill({ key: 'a', operator: 'Exists' }) } },
  },
])('a pod that $what is misplaced on no node, and is not kept', async ({ object }) => {
  const request = vi.fn(async () => ({ metadata: { resourceVersion: '1' }, items: [object, POD] }));
  const found = await listNodePods({ request } as unknown as ApiClient, 'n1', new AbortController().signal);
  expect(found).toEqual([viewNodePod(POD)]);
});

it.each([{ name: 'n1' }, { name: 'ip-10-0-0-1.eu-west-1.compute.internal' }])(
  'the pods of node $name are listed by their node',
  async ({ name }) => {
    const request = vi.fn(async () => ({ metadata: { resourceVersion: '1' }, items: [] }));
    await listNodePods({ request } as unknown as ApiClient, name, new AbortController().signal);
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
    const listing = listNodePods({ request } as unknown as ApiClient, name, new AbortController().signal);
    await expect(listing).rejects.toThrow('is no name of a node');
    expect(request).not.toHaveBeenCalled();
  },
);
