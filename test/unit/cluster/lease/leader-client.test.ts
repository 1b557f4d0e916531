import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ApiClient, RequestOptions } from '../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import { leaderClient } from '../../../../src/cluster/lease/leader-client.ts';
import { LEADER_TIMINGS } from '../../../../src/cluster/lease/leader-timings.ts';
import { beginTerm, LeadershipLostError } from '../../../../src/cluster/lease/leadership.ts';
import { thisMoment } from '../../../../src/runtime/moment.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A term of which the given time has passed, and what its client was asked. */
function leading(passedMs: number, answer: (options: RequestOptions) => Promise<unknown> = async () => 'done') {
  const { monotonic, wall } = thisMoment();
  const term = beginTerm(LEADER_TIMINGS, { monotonic: monotonic - passedMs, wall: wall - passedMs });
  const request = vi.fn(async (_method: string, _path: string, options: RequestOptions = {}) => answer(options));
  const plain = { request, lines: vi.fn(), namespace: 'n', server: 's', close: vi.fn() } as unknown as ApiClient;
  return { term, request, client: leaderClient(plain, term), options: () => request.mock.lastCall?.[2] ?? {} };
}

const WRITES = ['POST', 'PUT', 'PATCH', 'DELETE'] as const;

describe.each(WRITES)('%s', (method) => {
  it('is sent while the lease is held, bound to the term and to what is left of the lease', async () => {
    const { client, term, options } = leading(6_000);
    await expect(client.request(method, '/x', { body: { a: 1 }, query: { b: 2 } })).resolves.toBe('done');
    expect(options()).toMatchObject({
      body: { a: 1 },
      query: { b: 2, timeout: '9000ms' },
      signal: term.signal,
      timeoutMs: 9_000,
    });
    term.end(new LeadershipLostError('over'));
  });

  it('keeps a shorter time-out of its own', async () => {
    const { client, term, options } = leading(0);
    await client.request(method, '/x', { timeoutMs: 500 });
    expect(options()).toMatchObject({ timeoutMs: 500, query: { timeout: '500ms' } });
    term.end(new LeadershipLostError('over'));
  });

  it.each([
    { why: 'the deadline has passed, though no timer has fired', passedMs: 10_001, end: false },
    { why: 'the term was ended', passedMs: 0, end: true },
  ])('is not sent once the lease is lost: $why', async ({ passedMs, end }) => {
    const { client, term, request } = leading(passedMs);
    if (end) term.end(new LeadershipLostError('it was told to stop'));
    await expect(client.request(method, '/x')).rejects.toThrow(LeadershipLostError);
    expect(request).not.toHaveBeenCalled();
  });
});

/** Never answered. */
const broken = (signal: AbortSignal | undefined) =>
  new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))));

it('a write that is broken off by the loss of the lease says so', async () => {
  const { client, term } = leading(0, ({ signal }) => broken(signal));
  const writing = client.request('PUT', '/x', { signal: new AbortController().signal });
  term.end(new LeadershipLostError('the lease is held by b'));
  await expect(writing).rejects.toThrow(new LeadershipLostError('no longer the leader: the lease is held by b'));
});

it.each([
  { why: 'before the write', early: true },
  { why: 'during the write', early: false },
])("a caller's own signal still counts: $why", async ({ early }) => {
  const own = new AbortController();
  const { client, term, options } = leading(0, async () => own.abort());
  if (early) own.abort();
  await client.request('PUT', '/x', { signal: own.signal });
  expect(options().signal?.aborted).toBe(true);
  expect(term.signal.aborted).toBe(false);
  term.end(new LeadershipLostError('over'));
});

it('an answer of the API server is passed on as it is, also after the loss', async () => {
  const conflict = new ApiError('PUT', '/x', 409, 'Conflict', '');
  const { client, term } = leading(0, async () => {
    term.end(new LeadershipLostError('over'));
    throw conflict;
  });
  await expect(client.request('PUT', '/x')).rejects.toBe(conflict);
});

it('a read keeps its own time-out, and ends with the term: a stopping leader does not wait for it', async () => {
  const { client, term, options } = leading(6_000, ({ signal }) => broken(signal));
  const reading = client.request('GET', '/x');
  expect(options()).toEqual({ signal: term.signal });
  term.end(new LeadershipLostError('it was told to stop'));
  await expect(reading).rejects.toThrow(new LeadershipLostError('no longer the leader: it was told to stop'));
});

it.each([
  { why: 'without a signal of the caller', own: () => undefined },
  { why: 'with one', own: () => new AbortController().signal },
])('writes of one term leave no listeners behind on its signal: $why', async ({ own }) => {
  const { client, term } = leading(0);
  for (let n = 0; n < 20; n++) await client.request('PUT', '/x', { signal: own() });
  expect(getEventListeners(term.signal, 'abort')).toEqual([]);
  term.end(new LeadershipLostError('over'));
});
