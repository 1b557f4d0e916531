import { expect, it } from 'vitest';
import type { UserClient } from '../../../../src/cluster/client/api-client.ts';
import { askApiServers } from '../../../../src/doctor/facts/api-servers.ts';
import type { Trial } from '../../../../src/doctor/facts/trial.ts';
import { createAuthority } from '../../../control-plane/credentials.ts';
import { answer, clientFor, type FakeApi, type Handler, refusal, startFakeApi } from '../../cluster/client/fake-api.ts';

const authority = await createAuthority();
const otherAuthority = await createAuthority();
const apiServerPair = await authority.serving({ names: ['kubernetes.default.svc'] });
/** The CA of a cluster may also issue certificates for the addresses of nodes, to their kubelets. */
const kubeletPair = await authority.serving();
const otherPair = await otherAuthority.serving({ names: ['kubernetes.default.svc'] });

const TRIAL: Trial = {
  what: 'removing the taints of node cp-1',
  method: 'PATCH',
  path: '/api/v1/nodes/cp-1',
  contentType: 'application/merge-patch+json',
  body: { spec: { taints: null } },
  isNative: false,
  shows: () => false,
};

/** An API server that gives this answer to the trial. */
const answering =
  (status: number, message: string): Handler =>
  ({ path }, response) =>
    path === '/version' ? answer(response, {}) : answer(response, refusal(status, '', message), status);

const DENIES = answering(403, 'admission webhook "protect.taintkeeper.dev" denied the request: no');
const IS_A_STRANGER = answering(
  500,
  'Internal error occurred: failed calling webhook "protect.taintkeeper.dev": failed to call webhook: the server has asked for the client to provide credentials',
);

const addressOf = ({ url }: Pick<FakeApi, 'url'>) => new URL(url).host;

/** A slice of the Service `kubernetes` for each address: here, they differ by port. */
const slicesFor = (addresses: readonly string[], ready = true) =>
  addresses.map((address) => {
    const { hostname, port } = new URL(`https://${address}`);
    return {
      ports: [{ name: 'https', port: Number(port) }],
      endpoints: [{ addresses: [hostname], conditions: { ready } }],
    };
  });

/** A client of the API server that lists the others, which has the certificate of an API server as well. */
async function clientWith(slices: readonly object[], cluster?: object): Promise<UserClient> {
  const first = await startFakeApi(
    ({ path, query }, response) =>
      answer(
        response,
        path === '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices' &&
          query.labelSelector === 'kubernetes.io/service-name=kubernetes'
          ? { metadata: { resourceVersion: '1' }, items: slices }
          : {},
      ),
    apiServerPair,
  );
  const trust = {
    'insecure-skip-tls-verify': undefined,
    'certificate-authority-data': Buffer.from(authority.cert).toString('base64'),
  };
  return (await clientFor(first.url, { cluster: { ...trust, ...cluster } })).client;
}

it('are asked with the credentials of the user, each at its own address', async () => {
  const [one, other] = [await startFakeApi(DENIES, apiServerPair), await startFakeApi(IS_A_STRANGER, apiServerPair)];
  const client = await clientWith(slicesFor([one, other].map(addressOf)));
  const asked = await askApiServers(client, TRIAL);
  expect(asked).toMatchObject({ ok: true, value: { length: 2 } });
  const outcomes = new Map(asked.ok ? asked.value.map(({ address, admission }) => [address, admission]) : []);
  expect(outcomes.get(addressOf(one))).toMatchObject({ value: { outcome: 'answered' } });
  expect(outcomes.get(addressOf(other))).toMatchObject({ value: { outcome: 'failed', fault: { kind: 'stranger' } } });
  for (const { received } of [one, other]) {
    expect(received.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /version',
      'PATCH /api/v1/nodes/cp-1',
    ]);
    expect(received[1]).toMatchObject({ query: { dryRun: 'All' }, headers: { authorization: 'Bearer the-token' } });
  }
});

it.each([
  { why: 'a kubelet, whose certificate is of the same CA', pair: kubeletPair, says: /kubernetes\.default\.svc/ },
  { why: 'a program with a certificate of another CA', pair: otherPair, says: /certificate/ },
])('what is no API server gets no credentials: $why', async ({ pair, says }) => {
  const [one, other] = [await startFakeApi(DENIES, apiServerPair), await startFakeApi(DENIES, pair)];
  const asked = await askApiServers(await clientWith(slicesFor([one, other].map(addressOf))), TRIAL);
  const found = asked.ok ? asked.value.find(({ address }) => address === addressOf(other)) : undefined;
  expect(found).toMatchObject({ admission: undefined, silence: expect.stringMatching(says) });
  expect(other.received).toEqual([]);
});

it('no credentials are sent to other addresses where the kubeconfig does not verify the API server', async () => {
  const apis = [await startFakeApi(DENIES, apiServerPair), await startFakeApi(DENIES, apiServerPair)];
  const client = await clientWith(slicesFor(apis.map(addressOf)), {
    'insecure-skip-tls-verify': true,
    'certificate-authority-data': undefined,
  });
  const silence = 'the kubeconfig does not verify the API server, so its credentials are sent to no other address';
  const expected = apis.map((api) => ({ address: addressOf(api), admission: undefined, silence }));
  expect(await askApiServers(client, TRIAL)).toEqual({
    ok: true,
    value: expected.toSorted((a, b) => (a.address < b.address ? -1 : 1)),
  });
  expect(apis.flatMap(({ received }) => received)).toEqual([]);
});

it('one that nothing answers for is named, and one that refuses the user is, too', async () => {
  const closed = '127.0.0.1:1';
  const refusing = await startFakeApi(
    (_, response) => answer(response, refusal(401, 'Unauthorized', 'Unauthorized'), 401),
    apiServerPair,
  );
  const asked = await askApiServers(await clientWith(slicesFor([closed, addressOf(refusing)])), TRIAL);
  expect(asked).toEqual({
    ok: true,
    value: [
      { address: closed, admission: undefined, silence: expect.stringContaining('ECONNREFUSED') },
      { address: addressOf(refusing), admission: { ok: false, status: 401, why: expect.stringContaining('401') } },
    ],
  });
});

it.each([
  { why: 'there is one', slices: slicesFor(['127.0.0.1:1']) },
  { why: 'one is twice in the list', slices: slicesFor(['127.0.0.1:1', '127.0.0.1:1']) },
  { why: 'the others are not ready', slices: [...slicesFor(['127.0.0.1:1']), ...slicesFor(['127.0.0.1:2'], false)] },
  {
    why: 'the others have a name, which a user could make lead to any address',
    slices: [...slicesFor(['127.0.0.1:1']), ...slicesFor(['api.example.com:6443'])],
  },
  {
    why: 'the others have a port of another name',
    slices: [
      ...slicesFor(['127.0.0.1:1']),
      { ports: [{ name: 'konnectivity', port: 2 }], endpoints: [{ addresses: ['127.0.0.1'] }] },
      { ports: null, endpoints: null },
    ],
  },
])('none is asked where $why', async ({ slices }) => {
  expect(await askApiServers(await clientWith(slices), TRIAL)).toEqual({ ok: true, value: [] });
});
