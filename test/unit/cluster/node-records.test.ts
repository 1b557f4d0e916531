import { expect, it, onTestFinished } from 'vitest';
import { nodeRecords } from '../../../src/cluster/node-records.ts';
import { captureLog } from '../captured-log.ts';
import { answer, clientFor, startFakeApi } from './client/fake-api.ts';

const RECORD = '{"uid":"a","machine":"/","taints":"dedicated=gpu:NoSchedule"}';

const configMap = (resourceVersion: string, data: Readonly<Record<string, string>>) => ({
  metadata: { name: 'taintkeeper-nodes', namespace: 'tk', uid: 'u', resourceVersion },
  data,
});

/** The ConfigMap at version 5, with one record, watched; each write makes version 7 of it. */
async function follow() {
  const opened = Promise.withResolvers<(type: string, object: object) => void>();
  const asked: string[] = [];
  const api = await startFakeApi(({ method, path, query }, response) => {
    asked.push(`${method} ${path}`);
    if (query.watch) {
      return opened.resolve((type, object) => void response.write(`${JSON.stringify({ type, object })}\n`));
    }
    if (method === 'PATCH') return answer(response, configMap('7', { n1: RECORD, n2: RECORD }));
    return answer(response, { metadata: { resourceVersion: '5' }, items: [configMap('5', { n1: RECORD })] });
  });
  const { client } = await clientFor(api.url);
  const records = nodeRecords({ client, namespace: 'tk', log: captureLog().log });
  onTestFinished(async () => void (await records.stop()));
  expect(records.recordOf('n1')).toBeUndefined();
  expect(asked).toEqual([]);
  records.follow();
  records.follow();
  const tell = await opened.promise;
  expect(records.recordOf('n1')).toMatchObject({ uid: 'a' });
  return { client, records, tell };
}

it('are followed once somebody asks for that, and what is no record is none', async () => {
  const { records, tell } = await follow();
  tell('MODIFIED', configMap('6', { n1: '{', n3: RECORD }));
  await expect.poll(() => records.recordOf('n3')).toBeDefined();
  expect(records.recordOf('n1')).toBeUndefined();
  tell('DELETED', configMap('8', {}));
  await expect.poll(() => records.stored().resourceVersion).toBeUndefined();
  expect(records.recordOf('n3')).toBeUndefined();
});

it('stay as they were written, though the watch brings what was before', async () => {
  const { client, records, tell } = await follow();
  let changes = 0;
  records.changes.subscribe(() => changes++);
  expect(await records.write(client, new Map([['n2', RECORD]]))).toBe(true);
  tell('MODIFIED', configMap('6', { n1: RECORD }));
  tell('MODIFIED', configMap('7', { n1: RECORD, n2: RECORD }));
  tell('MODIFIED', configMap('8', { n2: RECORD }));
  await expect.poll(() => records.recordOf('n1')).toBeUndefined();
  expect(records.recordOf('n2')).toBeDefined();
  expect(changes).toBe(1);
});
