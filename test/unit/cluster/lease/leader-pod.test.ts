import { expect, it } from 'vitest';
import { findLeaderPod } from '../../../../src/cluster/lease/leader-pod.ts';
import { absentStatus } from '../client/absent.ts';
import { answer, clientFor, refusal, startFakeApi } from '../client/fake-api.ts';

const LEASE = '/apis/coordination.k8s.io/v1/namespaces/tk/leases/taintkeeper';
const POD = '/api/v1/namespaces/tk/pods/tk-b';
const HELD = { spec: { holderIdentity: 'tk-b_6f7c' } };
const container = (...ports: { name?: string; containerPort: number }[]) => ({ ports });

/** What is found where the API server has these objects. An Error is a refusal. */
async function leaderOf(objects: Readonly<Record<string, object>>) {
  const { url } = await startFakeApi(({ path }, response) => {
    const found = objects[path];
    if (found === undefined) return answer(response, absentStatus(path), 404);
    if (found instanceof Error) return answer(response, refusal(403, 'Forbidden', found.message), 403);
    return answer(response, found);
  });
  const { client } = await clientFor(url);
  return findLeaderPod(client, 'tk');
}

it('is the holder of the Lease, at the port named admin of any of its containers', async () => {
  const containers = [{}, container({ containerPort: 1 }, { name: 'admin', containerPort: 18_080 })];
  expect(await leaderOf({ [LEASE]: HELD, [POD]: { spec: { containers } } })).toEqual({ pod: 'tk-b', port: 18_080 });
});

it.each([
  { why: 'there is no Lease', objects: {}, says: 'there is no Lease tk/taintkeeper; ' },
  {
    why: 'no replica holds the Lease',
    objects: { [LEASE]: { spec: { holderIdentity: '' } } },
    says: 'no replica leads (Lease tk/taintkeeper); to see why: taintkeeper doctor',
  },
  {
    why: 'the pod does not exist',
    objects: { [LEASE]: HELD },
    says: "the leader's pod tk/tk-b does not exist; after a crash, another replica leads within 17 s. If none does: taintkeeper doctor",
  },
  {
    why: 'the pod has no such port',
    objects: { [LEASE]: HELD, [POD]: { spec: { containers: [container({ name: 'webhook', containerPort: 1 })] } } },
    says: "the leader's pod tk/tk-b has no port named admin",
  },
  { why: 'the user may not read the Lease', objects: { [LEASE]: new Error('not you') }, says: 'not you' },
  { why: 'the user may not read the pod', objects: { [LEASE]: HELD, [POD]: new Error('not you') }, says: 'not you' },
])('is an error that says what is missing where $why', async ({ objects, says }) => {
  await expect(leaderOf(objects)).rejects.toThrow(says);
});
