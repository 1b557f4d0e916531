import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { toApiError } from '../../../../src/cluster/client/api-error.ts';
import { type Creation, type Creations, followCreations } from '../../../../src/cluster/events/creations.ts';
import { captureLog } from '../../captured-log.ts';
import { absent } from '../client/absent.ts';
import { eventServer } from './event-server.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const MINUTE = 60_000;
const PATH = '/api/v1/nodes/n1';
const CREATION: Creation = {
  object: { apiVersion: 'v1', kind: 'Node', name: 'n1' },
  record: 'mutate',
  origin: '10.0.0.1',
};
const named = (name: string, origin = '10.0.0.1'): Creation => ({
  ...CREATION,
  object: { ...CREATION.object, name },
  origin,
});

let followed: Creations | undefined;
beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
});
afterEach(async () => {
  const stopped = followed?.stop();
  // The time that an end of the process has.
  await vi.advanceTimersByTimeAsync(2_000);
  await stopped;
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

/** @param created when the node was created, in milliseconds; undefined: there is none */
function follow(created: number | undefined = NOW) {
  const server = eventServer({ [PATH]: 'uid-1' }, { [PATH]: created });
  const log = captureLog();
  const creations = followCreations({ client: server.client, log: log.log });
  followed = creations;
  const uids: string[] = [];
  return { server, log, creations, uids, send: (one = CREATION) => creations.follow(one, (uid) => uids.push(uid)) };
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

it.each<{ why: string; created: number; expected: string[] }>([
  { why: 'the node is as old as the request', created: NOW, expected: ['uid-1'] },
  {
    why: 'the clock of another API server is behind, and creation times have whole seconds',
    created: NOW - 4_900,
    expected: ['uid-1'],
  },
  { why: 'other webhooks took long', created: NOW + 900, expected: ['uid-1'] },
  { why: 'the node existed before: its kubelet restarted', created: NOW - 60_000, expected: [] },
])('is recorded or not, after one read: $why', async ({ created, expected }) => {
  const { server, send, uids } = follow(created);
  send();
  expect(uids).toEqual([]);
  await pass(10 * MINUTE);
  expect(uids).toEqual(expected);
  expect(server.reads).toEqual([PATH]);
});

it('is recorded once for each phase, where the kubelet restarts as soon as its node is created', async () => {
  const { send, uids } = follow();
  send();
  send({ ...CREATION, record: 'validate' });
  await pass(1_500);
  send();
  await pass(MINUTE);
  expect(uids).toEqual(['uid-1', 'uid-1']);
});

it.each([
  { why: 'the API server is busy', storedMs: 1_500, recordedMs: 4_000 },
  { why: 'other webhooks take long', storedMs: 8_000, recordedMs: 14_000 },
])('is recorded later, where the object is stored later: $why', async ({ storedMs, recordedMs }) => {
  const { server, send, uids } = follow(NOW + storedMs);
  server.answer = (method, path) => (Date.now() < NOW + storedMs ? absent(method, path) : undefined);
  send();
  await pass(recordedMs - 1);
  expect(uids).toEqual([]);
  await pass(1);
  expect(uids).toEqual(['uid-1']);
});

it('is not recorded, and no longer asked for, where the object is never stored', async () => {
  const { server, send, uids, log } = follow();
  server.answer = absent;
  send();
  await pass(10 * MINUTE);
  expect([uids, server.reads.length, log.lines()]).toEqual([[], 4, []]);
});

it('is recorded once the API server answers again', async () => {
  const { server, send, uids } = follow();
  server.answer = () => new Error('connection refused');
  send();
  await pass(30_000);
  server.answer = () => undefined;
  await pass(30_000);
  expect(uids).toEqual(['uid-1']);
});

it.each<{ why: string; answer: Error; reads: number }>([
  { why: 'nodes may not be read', answer: toApiError('GET', PATH, 403, '{}'), reads: 1 },
  { why: 'the API server does not answer for two minutes', answer: new Error('connection refused'), reads: 20 },
])('is not recorded, and the log says so: $why', async ({ answer, reads }) => {
  const { server, send, uids, log } = follow();
  server.answer = () => answer;
  send();
  await pass(10 * MINUTE);
  expect(uids).toEqual([]);
  expect(server.reads.length).toBeLessThanOrEqual(reads);
  expect(log.lines().map(({ msg }) => msg)).toContainEqual(expect.stringContaining('were not recorded'));
});

it.each(['..', '../secrets/x', 'N1', 'n'.repeat(254), ''])(
  'asks for no object of an impossible name: %s',
  async (name) => {
    const { server, send } = follow();
    send(named(name));
    await pass(MINUTE);
    expect(server.reads).toEqual([]);
  },
);

it('is not pushed out by a flood of one sender, whose reads are limited', async () => {
  const { server, send, uids, log } = follow(NOW);
  server.answer = (method, path) => (path === PATH ? undefined : absent(method, path));
  send();
  for (let n = 0; n < 5_000; n++) send(named(`ghost-${n}`, '10.0.0.66'));
  await pass(2_000);
  expect(uids).toEqual(['uid-1']);
  // The burst, and 20 in a second.
  expect(server.reads.length).toBeLessThanOrEqual(50 + 20 + 1);
  expect(log.lines().map(({ msg }) => msg)).toEqual([expect.stringContaining('more than 1024 wait')]);
});

it('is confirmed at the end of the process, if there is time', async () => {
  const { creations, send, uids } = follow();
  send();
  await creations.stop();
  expect(uids).toEqual(['uid-1']);
});

it('does not keep the process from ending, where the API server does not answer', async () => {
  const { server, creations, send, uids } = follow();
  server.answer = () => 'silence';
  send();
  const stopped = creations.stop();
  await pass(2_000);
  await stopped;
  expect(uids).toEqual([]);
});
