import { expect, it, onTestFinished } from 'vitest';
import { getRecord, nodeRecords, removeRecord, writeRecord } from '../../../src/cluster/node-records.ts';
import { recordFields } from '../../../src/objects/node-record.ts';
import { captureLog } from '../captured-log.ts';
import { absentStatus } from './client/absent.ts';
import { answer, clientFor, refusal, startFakeApi } from './client/fake-api.ts';

const PATH = '/apis/taintkeeper.dev/v1alpha1/nodetaintrecords';
const TAINT = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', policies: ['p'] };
const record = (uid: string) => ({ uid, machine: { systemUUID: 's', providerID: '' }, taints: [TAINT] });
const object = (name: string, resourceVersion: string, fields: object = recordFields(record(name), undefined)) => ({
  ...fields,
  metadata: { name, uid: `uid-${name}`, resourceVersion },
});

it('are watched once a caller follows them; an object that cannot be read is no record', async () => {
  const opened = Promise.withResolvers<(type: string, object: object) => void>();
  const api = await startFakeApi(({ query }, response) => {
    if (query.watch) {
      return opened.resolve((type, object) => void response.write(`${JSON.stringify({ type, object })}\n`));
    }
    return answer(response, { metadata: { resourceVersion: '5' }, items: [object('n1', '4')] });
  });
  const { client } = await clientFor(api.url);
  const records = nodeRecords({ client, log: captureLog().log });
  onTestFinished(async () => void (await records.stop()));
  const names: string[] = [];
  records.changes.subscribe((name) => names.push(name));
  expect(records.state()).toBe('not watched');
  expect(api.received).toEqual([]);
  records.follow();
  records.follow();
  expect(records.state()).toBe('unread');

  const tell = await opened.promise;
  expect(records.state()).toBe('read');
  expect(records.recordOf('n1')).toEqual(record('n1'));
  tell('ADDED', object('n2', '6', { node: {} }));
  tell('DELETED', object('n1', '7'));
  await expect.poll(() => records.versionOf('n1')).toBeUndefined();
  expect(records.recordOf('n2')).toBeUndefined();
  expect(records.versionOf('n2')).toBe('6');
  expect(names).toEqual(['n1', 'n2', 'n1']);
});

it.each([404, 403])(
  'that cannot be read, because the API server answers %i, are a problem, and are read later',
  async (status) => {
    let isServed = false;
    const api = await startFakeApi(({ query }, response) => {
      if (query.watch) return undefined;
      if (!isServed) return answer(response, refusal(status, 'No', 'no'), status);
      return answer(response, { metadata: { resourceVersion: '5' }, items: [] });
    });
    const { client } = await clientFor(api.url);
    // The watch tries again after a second or two.
    const [failed, connected] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const onState = (isConnected: boolean) => (isConnected ? connected : failed).resolve();
    const records = nodeRecords({ client, onState, log: captureLog().log });
    onTestFinished(async () => void (await records.stop()));
    records.follow();
    await failed.promise;
    expect(records.state()).toEqual({ problem: expect.stringContaining(String(status)) });
    isServed = true;
    await connected.promise;
    expect(records.state()).toBe('read');
  },
);

it('are written only over the version that was seen', async () => {
  let status = 200;
  const api = await startFakeApi(({ path }, response) => {
    if (status < 300) answer(response, object('n1', '9'));
    else answer(response, status === 404 && path !== PATH ? absentStatus(path) : refusal(status, 'No', 'no'), status);
  });
  const { client } = await clientFor(api.url);
  const before = { uid: 'u', resourceVersion: '8', record: undefined };
  const after = { uid: 'uid-n1', resourceVersion: '9', record: record('n1') };
  expect(await writeRecord(client, 'n1', record('n1'), undefined)).toEqual(after);
  expect(await writeRecord(client, 'n1', record('n1'), before)).toEqual(after);
  expect(await removeRecord(client, 'n1', before)).toBe(true);
  expect(api.received.map(({ method, path, body }) => ({ method, path, body: JSON.parse(body) }))).toMatchObject([
    { method: 'POST', path: PATH, body: { kind: 'NodeTaintRecord', metadata: { name: 'n1' }, node: { uid: 'n1' } } },
    { method: 'PATCH', path: `${PATH}/n1`, body: { metadata: { uid: 'u', resourceVersion: '8' }, taints: [TAINT] } },
    { method: 'DELETE', path: `${PATH}/n1`, body: { preconditions: { uid: 'u', resourceVersion: '8' } } },
  ]);

  status = 409;
  expect(await writeRecord(client, 'n1', record('n1'), undefined)).toBeUndefined();
  expect(await writeRecord(client, 'n1', record('n1'), before)).toBeUndefined();
  expect(await removeRecord(client, 'n1', before)).toBe(false);
  status = 404;
  expect(await writeRecord(client, 'n1', record('n1'), before)).toBeUndefined();
  expect(await removeRecord(client, 'n1', before)).toBe(true);
  expect(await getRecord(client, 'n1')).toBeUndefined();
  // There is no object to be missing: the definition is not served.
  await expect(writeRecord(client, 'n1', record('n1'), undefined)).rejects.toThrow('404');
});
