import { expect, it } from 'vitest';
import { list } from '../../../src/doctor/reading.ts';
import { answer, clientFor, refusal, startFakeApi } from '../cluster/client/fake-api.ts';

it('a list whose rest is no longer available is read again', async () => {
  let lists = 0;
  const api = await startFakeApi(({ query }, response) => {
    const page = (name: string, rest?: string) =>
      answer(response, { metadata: { resourceVersion: '1', continue: rest }, items: [{ name }] });
    if (!query.continue) return page('a', `${++lists}`);
    return query.continue === '1' ? answer(response, refusal(410, 'Expired', 'too old'), 410) : page('b');
  });
  const { client } = await clientFor(api.url);
  expect(await list(client, '/api/v1/nodes', (object) => (object as { name: string }).name)).toEqual(['a', 'b']);
});
