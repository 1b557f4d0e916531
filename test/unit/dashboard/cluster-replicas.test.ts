import { expect, it } from 'vitest';
import { clusterReplicas } from '../../../src/dashboard/reachable-replicas.ts';
import { followFault } from '../../../src/runtime/fault-log.ts';
import { absentStatus } from '../cluster/client/absent.ts';
import { answer, clientFor, refusal, startFakeApi } from '../cluster/client/fake-api.ts';

const PORTS = [
  { name: 'webhook', port: 8443 },
  { name: 'metrics', port: 18080 },
];
const endpoint = (name: string, ready?: boolean) => ({
  conditions: ready === undefined ? {} : { ready },
  targetRef: { kind: 'Pod', name },
});

/** What is found where the API server answers with these. */
async function replicasOf(slices: object[], lease: { status: number; body: object }) {
  const { url, received } = await startFakeApi(({ path }, response) =>
    path.endsWith('/endpointslices')
      ? answer(response, { metadata: { resourceVersion: '1' }, items: slices })
      : answer(response, lease.body, lease.status),
  );
  const { client } = await clientFor(url);
  const dialled: string[] = [];
  const warnings: string[] = [];
  const { replicas, leader } = await clusterReplicas({
    client,
    namespace: 'tk',
    service: 'taintkeeper',
    lease: 'taintkeeper',
    async dial(pod, port) {
      dialled.push(`${pod}:${port}`);
      throw new Error('not here');
    },
    leaseFault: followFault({ warn: (message) => void warnings.push(message), info() {} }, ''),
  });
  for (const { dial } of replicas) await dial().catch(() => {});
  return { names: replicas.map(({ name }) => name), leader, dialled, received, warnings };
}

const held = { status: 200, body: { spec: { holderIdentity: 'tk-b_6f7c' } } };

it("are the pods behind the Service, ready ones first, at the port of its slice; the Lease's holder leads", async () => {
  const found = await replicasOf(
    [
      { endpoints: [endpoint('tk-c', false), endpoint('tk-b', true)], ports: PORTS },
      { endpoints: [endpoint('tk-a')], ports: PORTS },
    ],
    held,
  );
  expect(found).toMatchObject({
    names: ['tk-a', 'tk-b', 'tk-c'],
    leader: 'tk-b',
    dialled: ['tk-a:18080', 'tk-b:18080', 'tk-c:18080'],
    warnings: [],
  });
  expect(found.received.map(({ path, query }) => [path, query]).sort()).toEqual([
    ['/apis/coordination.k8s.io/v1/namespaces/tk/leases/taintkeeper', {}],
    [
      '/apis/discovery.k8s.io/v1/namespaces/tk/endpointslices',
      { labelSelector: 'kubernetes.io/service-name=taintkeeper', limit: expect.any(String) },
    ],
  ]);
});

const NOT_KNOWN = expect.stringMatching(/^the leader is not known.*leases\/taintkeeper: 40/);

it.each([
  { why: 'no replica holds the Lease', lease: { status: 200, body: { spec: { holderIdentity: '' } } }, warned: [] },
  { why: 'there is no Lease', lease: { status: 404, body: absentStatus('/leases/taintkeeper') }, warned: [NOT_KNOWN] },
  {
    why: 'the Lease may not be read',
    lease: { status: 403, body: refusal(403, 'Forbidden', 'no') },
    warned: [NOT_KNOWN],
  },
])('have no known leader where $why', async ({ lease, warned }) => {
  const slices = [{ endpoints: [endpoint('tk-a')], ports: PORTS }];
  expect(await replicasOf(slices, lease)).toMatchObject({ names: ['tk-a'], leader: undefined, warnings: warned });
});

it.each([
  { why: 'there is no slice', slices: [] },
  { why: 'no port is the admin listener’s', slices: [{ endpoints: [endpoint('tk-a')], ports: [{ port: 1 }] }] },
  { why: 'the endpoints are no pods', slices: [{ endpoints: [{}], ports: PORTS }] },
])('are none, and that is said, where $why', async ({ slices }) => {
  await expect(replicasOf(slices, held)).rejects.toThrow(
    'Service tk/taintkeeper leads to no pod with a port named metrics',
  );
});
