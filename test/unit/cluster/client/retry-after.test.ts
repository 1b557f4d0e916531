import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { parseRetryAfter } from '../../../../src/cluster/client/retry-after.ts';
import { watchResource } from '../../../../src/cluster/watch/watch-cache.ts';
import { captureLog } from '../../captured-log.ts';
import { stopClock, whenTrue } from '../../stopped-clock.ts';
import { answer, clientFor, type Received, refusal, startFakeApi } from './fake-api.ts';

/** As the API server answers by priority and fairness, and while it ends: after so many seconds, or without a word of that. */
function tooMany(response: ServerResponse, retryAfter: string | undefined): void {
  if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter);
  answer(response, refusal(429, 'TooManyRequests', 'too many requests, please try again later'), 429);
}

/** A client, and a server that refuses the first requests: by one Retry-After for each. The clock stands still. */
async function busyCluster(retryAfters: readonly (string | undefined)[]) {
  stopClock();
  const api = await startFakeApi((request: Received, response) => {
    const turn = api.received.length - 1;
    if (turn < retryAfters.length) return tooMany(response, retryAfters[turn]);
    response.end(`${JSON.stringify({ method: request.method, body: request.body })}\n`);
  });
  return { api, ...(await clientFor(api.url)) };
}

/** The request waits for two timers: its own time, and the pause before it is sent again. */
const pauses = () => vi.getTimerCount() === 2;

/** Lets the pause of the request run out, which must take exactly so long. */
async function passPause(ms: number): Promise<void> {
  await whenTrue(pauses);
  vi.advanceTimersByTime(ms - 1);
  expect(pauses()).toBe(true);
  vi.advanceTimersByTime(1);
  expect(pauses()).toBe(false);
}

describe('an API server that is busy', () => {
  it.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const)('is asked again by %s when it said', async (method) => {
    const { client, api } = await busyCluster(['1']);
    const body = method === 'GET' ? undefined : { a: 1 };
    const asked = client.request(method, '/x', { body });
    await passPause(1_000);

    expect(await asked).toEqual({ method, body: body ? '{"a":1}' : '' });
    expect(api.received).toHaveLength(2);
  });

  it('is not asked again at once because it says so: that is what it is busy with', async () => {
    const { client, api } = await busyCluster(['0', '-1']);
    const asked = expect(client.request('GET', '/x')).rejects.toMatchObject({ status: 429, retryAfterMs: undefined });
    await passPause(1_000);

    await asked;
    expect(api.received).toHaveLength(2);
  });

  it('that names no time is not asked again: the caller applies its own back-off', async () => {
    const { client, api } = await busyCluster([undefined]);

    await expect(client.request('GET', '/x')).rejects.toMatchObject({ status: 429, retryAfterMs: undefined });
    expect(api.received).toHaveLength(1);
  });

  it('that names a time beyond the timeout is not asked again, and the error has that time', async () => {
    const { client, api } = await busyCluster(['2']);

    await expect(client.request('GET', '/x', { timeoutMs: 1_500 })).rejects.toMatchObject({
      status: 429,
      retryAfterMs: 2_000,
    });
    expect(api.received).toHaveLength(1);
  });

  it('does not keep a caller waiting after it aborted the request', async () => {
    const { client } = await busyCluster(['5']);
    const giving = new AbortController();
    const asked = client.request('GET', '/x', { signal: giving.signal });
    await whenTrue(pauses);
    giving.abort(new Error('given up'));

    await expect(asked).rejects.toThrow('GET /x: given up');
  });

  it('refuses a watch for a while only', async () => {
    const { client } = await busyCluster(['1']);
    const lines = client.lines('/x', { idleMs: 5_000 })[Symbol.asyncIterator]();
    const first = lines.next();
    await passPause(1_000);

    expect(await first).toEqual({ done: false, value: { method: 'GET', body: '' } });
    expect(await lines.next()).toEqual({ done: true, value: undefined });
  });
});

it('a watch that is refused for longer than it may take to open waits as it was told', async () => {
  stopClock();
  let watches = 0;
  const api = await startFakeApi(({ query }, response) => {
    if (!query.watch) return answer(response, { metadata: { resourceVersion: '1' }, items: [] });
    watches++;
    return tooMany(response, '2');
  });
  const { client } = await clientFor(api.url);
  const cache = watchResource({
    client,
    path: '/api/v1/nodes',
    project: (object) => object,
    log: captureLog().log,
    // Otherwise it would be tried 20 times a second.
    timings: { watchMs: 1_000, graceMs: 100, backOffMinMs: 10, backOffMaxMs: 50 },
  });
  onTestFinished(() => cache.stop());

  // While the watch opens, two timers bound it.
  await whenTrue(() => watches === 1 && vi.getTimerCount() === 1);
  vi.advanceTimersByTime(1_999);
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(1);
  await whenTrue(() => watches === 2);
  expect(watches).toBe(2);
});

describe('how long to wait', () => {
  const now = new Date('2026-03-01T08:00:00Z');
  it.each([
    { header: '7', ms: 7_000 },
    { header: 'Sun, 01 Mar 2026 08:00:30 GMT', ms: 30_000 },
    { header: '3600', ms: 60_000, why: 'no request waits for an hour because a proxy says so' },
    { header: 'Sun, 01 Mar 2026 09:00:30 GMT', ms: 60_000 },
    { header: '0', ms: 1_000 },
    { header: 'Sun, 01 Mar 2026 07:00:30 GMT', ms: 1_000 },
    { header: 'soon', ms: undefined },
    { header: '-1', ms: undefined },
    { header: '', ms: undefined },
    { header: undefined, ms: undefined },
  ])('for "$header" is $ms ms', ({ header, ms }) => {
    expect(parseRetryAfter(header, now)).toBe(ms);
  });
});
