import { expect, it } from 'vitest';
import { isNotFound, isNotServed } from '../../../../src/cluster/client/api-error.ts';
import { deleteObject } from '../../../../src/cluster/client/delete-object.ts';
import { findApi, findObject } from '../../../../src/cluster/client/find-object.ts';
import { absentStatus } from './absent.ts';
import { answer, clientFor, refusal, startFakeApi } from './fake-api.ts';

const SECRET = '/api/v1/namespaces/a/secrets/certs';
const status = (details: unknown) => JSON.stringify({ ...refusal(404, 'NotFound', 'no'), details });

it.each([
  { why: 'the API server names the object', body: JSON.stringify(absentStatus(SECRET)), isMissing: true },
  {
    why: 'it names the object of a subresource',
    path: `${SECRET}/status`,
    body: status({ name: 'certs' }),
    isMissing: true,
  },
  { why: 'it names the namespace of the object', body: status({ name: 'a', kind: 'namespaces' }), isMissing: true },
  { why: 'the name is encoded in the path', path: '/x/a%3Ab', body: status({ name: 'a:b' }), isMissing: true },
  { why: 'a proxy, or an API server without the path, answers', body: '404 page not found\n', isMissing: false },
  { why: 'a proxy answers with HTML', body: '<html><h1>certs: not found</h1></html>', isMissing: false },
  { why: 'a proxy answers with JSON', body: '{"name":"certs","reason":"NotFound"}', isMissing: false },
  { why: 'the Status names nothing', body: status({}), isMissing: false },
  { why: 'the Status names another object', body: status({ name: 'other' }), isMissing: false },
  {
    why: 'the reason is another one',
    body: JSON.stringify({ ...refusal(404, '', 'no'), details: { name: 'certs' } }),
    isMissing: false,
  },
  { why: 'the Status is broken', body: status('certs'), isMissing: false },
  { why: 'there is no body', body: '', isMissing: false },
])('a 404 is a missing object: $isMissing, where $why', async ({ path = SECRET, body, isMissing }) => {
  const api = await startFakeApi((_request, response) => response.writeHead(404).end(body));
  const { client } = await clientFor(api.url);
  const error = await client.request('GET', path).catch((reason) => reason);
  expect({ isNotFound: isNotFound(error), isNotServed: isNotServed(error) }).toEqual({
    isNotFound: isMissing,
    isNotServed: !isMissing,
  });
  if (isMissing) {
    expect(await findObject(client, path)).toBeUndefined();
    expect(await deleteObject(client, path, {})).toBe('gone');
  } else {
    await expect(findObject(client, path)).rejects.toThrow(': 404');
    await expect(deleteObject(client, path, {})).rejects.toThrow(': 404');
  }
});

it('a discovery document that the API server does not serve is undefined', async () => {
  const api = await startFakeApi(({ path }, response) => {
    if (path === '/apis/apps/v1') answer(response, { resources: [] });
    else response.writeHead(404).end('404 page not found\n');
  });
  const { client } = await clientFor(api.url);
  expect(await findApi(client, '/apis/apps/v1')).toEqual({ resources: [] });
  expect(await findApi(client, '/apis/karpenter.sh')).toBeUndefined();
});
