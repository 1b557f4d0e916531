import { expect, it, onTestFinished } from 'vitest';
import { createAuthority } from '../../control-plane/credentials.ts';
import { createRestClient } from '../../control-plane/rest.ts';
import { startFakeApi } from '../cluster/client/fake-api.ts';

it.each([
  ['POST', { name: 'ä' }],
  ['PATCH', 'as: it is'],
  // Of its own accord, Node.js says of no DELETE that something follows.
  ['DELETE', { preconditions: { uid: 'ä' } }],
  ['DELETE', ''],
  ['DELETE', undefined],
  ['GET', undefined],
])('a %s carries %j, and leaves its connection to the next request', async (method, body) => {
  const authority = await createAuthority();
  const api = await startFakeApi((_request, response) => response.end(), await authority.serving());
  const client = createRestClient(api.url, authority.cert);
  onTestFinished(() => client.close());
  for (const path of ['/one', '/two'])
    expect(await client.request(method, path, { body })).toMatchObject({ status: 200 });
  const sent = typeof body === 'object' ? JSON.stringify(body) : (body ?? '');
  expect(api.received.map((request) => request.body)).toEqual([sent, sent]);
  expect(api.connections().made).toBe(1);
});
