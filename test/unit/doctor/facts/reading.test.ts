import { expect, it, onTestFinished, vi } from 'vitest';
import { listObjects } from '../../../../src/cluster/list/list-objects.ts';
import { read } from '../../../../src/doctor/facts/reading.ts';
import { answer, clientFor, refusal, startFakeApi } from '../../cluster/client/fake-api.ts';

it('a list whose rest is no longer available is read again', async () => {
  let lists = 0;
  const api = await startFakeApi(({ query }, response) => {
    const page = (name: string, rest?: string) =>
      answer(response, { metadata: { resourceVersion: '1', continue: rest }, items: [{ name }] });
    if (!query.continue) return page('a', `${++lists}`);
    return query.continue === '1' ? answer(response, refusal(410, 'Expired', 'too old'), 410) : page('b');
  });
  const { client } = await clientFor(api.url);
  expect(await listObjects(client, '/api/v1/nodes', (object) => (object as { name: string }).name)).toEqual(['a', 'b']);
});

it('a list has no time limit as a whole: a large cluster takes many pages', async () => {
  const limit = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort());
  onTestFinished(() => limit.mockRestore());
  const api = await startFakeApi(({ query }, response) =>
    answer(response, { metadata: { resourceVersion: '1', continue: query.continue ? undefined : '1' }, items: [{}] }),
  );
  const { client } = await clientFor(api.url);
  expect(await listObjects(client, '/api/v1/nodes', () => 'n')).toEqual(['n', 'n']);
});

it('a request without an answer names the time limit as one of this command', async () => {
  const { client } = await clientFor((await startFakeApi(() => {})).url);
  expect(await read(() => client.request('GET', '/api/v1/nodes', { timeoutMs: 20 }))).toMatchObject({
    ok: false,
    why: 'GET /api/v1/nodes: no answer within 20 ms, the time limit of this command',
  });
});
