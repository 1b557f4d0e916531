import { getEventListeners } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { describe, expect, it, vi } from 'vitest';
import { AnswerTooLongError } from '../../../../src/cluster/client/api-error.ts';
import { confirmedTime } from '../../../../src/cluster/client/confirmed-time.ts';
import { eventually } from '../../eventually.ts';
import { answer, clientFor, type Handler, kubeconfigText, refusal, startFakeApi } from './fake-api.ts';

/** A client, and the server that it talks to. */
async function fakeCluster(handler: Handler) {
  const api = await startFakeApi(handler);
  return { api, ...(await clientFor(api.url)) };
}

const echo: Handler = ({ method, path, query, headers, body }, response) =>
  answer(response, { method, path, query, headers, body });
const silent: Handler = () => {};
const BLOCK = Buffer.alloc(65_536, 'x');

/** Writes blocks until the client closes the connection. */
function writeForever(response: ServerResponse, onBlock = () => {}): void {
  const write = (error?: Error | null) => {
    if (error || response.destroyed) return;
    onBlock();
    response.write(BLOCK, write);
  };
  write();
}

describe('a request', () => {
  it('carries method, path, query, JSON body, type, user agent and credentials', async () => {
    const { client } = await fakeCluster(echo);
    const seen = await client.request('PATCH', '/api/v1/nodes/n1', {
      query: { fieldManager: 'a b&c', limit: 5, watch: false, left: undefined },
      body: { metadata: { name: 'ä' } },
      contentType: 'application/merge-patch+json',
    });
    expect(seen).toMatchObject({
      method: 'PATCH',
      path: '/api/v1/nodes/n1',
      query: { fieldManager: 'a b&c', limit: '5', watch: 'false' },
      body: '{"metadata":{"name":"ä"}}',
      headers: {
        authorization: 'Bearer the-token',
        accept: 'application/json',
        'content-type': 'application/merge-patch+json',
        'user-agent': 'taintkeeper/test',
      },
    });
  });

  it('without a body says nothing of a type', async () => {
    const { client } = await fakeCluster(echo);
    const seen = await client.request<{ headers: object; query: object }>('GET', '/version');
    expect(seen.headers).not.toHaveProperty('content-type');
    expect(seen.query).toEqual({});
  });

  it('returns the text of the answer unchanged if the caller accepts another type than JSON', async () => {
    const { api, client } = await fakeCluster((_, response) => response.end('# HELP {'));
    expect(await client.request('GET', '/metrics', { accept: 'text/plain' })).toBe('# HELP {');
    expect(api.received[0]?.headers.accept).toBe('text/plain');
  });

  it('keeps the path of the server before its own, as behind a gateway', async () => {
    const api = await startFakeApi(echo);
    const { client } = await clientFor(`${api.url}/k8s/clusters/c-1/`);
    expect(await client.request('GET', '/version')).toMatchObject({ path: '/k8s/clusters/c-1/version' });
  });

  it('tells the time by the clock of the server, whatever the answer', async () => {
    const { client } = await fakeCluster((_request, response) =>
      response.writeHead(404, { date: 'Sun, 01 Mar 2026 08:00:00 GMT' }).end(),
    );
    expect(Math.abs(client.now().getTime() - Date.now())).toBeLessThan(1_000);
    for (let answers = 0; answers < 2; answers++) await expect(client.request('GET', '/x')).rejects.toThrow('404');
    expect(client.now().toISOString()).toMatch(/^2026-03-01T08:0/);
  });

  it('tells the time for certificates after a second answer, if the first one disagrees with the local clock', async () => {
    let date = 'Sun, 01 Mar 2026 08:00:00 GMT';
    const { api, client } = await fakeCluster((_request, response) => response.writeHead(403, { date }).end());
    expect((await confirmedTime(client)).getTime()).toBeGreaterThan(Date.parse('2026-06-01'));
    expect((await confirmedTime(client)).toISOString()).toMatch(/^2026-03-01T08:0/);
    date = new Date().toUTCString();
    await confirmedTime(client);
    await confirmedTime(client);
    expect(api.received.map(({ path }) => path)).toEqual(Array(3).fill('/version'));
  });

  it('accepts an answer of exactly the longest length, and says how long it is', async () => {
    const { client } = await fakeCluster((_request, response) => response.end('"äöü"'));
    const onLength = vi.fn();
    expect(await client.request('GET', '/x', { mostBytes: 8, onLength })).toBe('äöü');
    expect(onLength).toHaveBeenCalledExactlyOnceWith(8);
    await expect(client.request('GET', '/x', { mostBytes: 7 })).rejects.toThrow(AnswerTooLongError);
  });

  it('whose answer is ignored is undefined, and its connection is used again', async () => {
    const { api, client } = await fakeCluster((_request, response) => response.end(BLOCK));
    for (let i = 0; i < 3; i++) expect(await client.request('PATCH', '/x', { ignoreAnswer: true })).toBeUndefined();
    expect(api.connections().made).toBe(1);
    const refused = await fakeCluster((_request, response) => answer(response, refusal(409, 'Conflict', 'c'), 409));
    await expect(refused.client.request('PATCH', '/x', { ignoreAnswer: true })).rejects.toThrow('409 Conflict');
  });

  it('that is answered with nothing is undefined', async () => {
    const { client } = await fakeCluster((_request, response) => response.writeHead(200).end());
    expect(await client.request('DELETE', '/x')).toBeUndefined();
  });
});

describe('a request that fails', () => {
  it.each([
    {
      why: 'a Status',
      status: 409,
      body: JSON.stringify(refusal(409, 'Conflict', 'the object has been modified')),
      message: 'PUT /x: 409 Conflict: the object has been modified',
      reason: 'Conflict',
    },
    { why: 'plain text', status: 503, body: 'starting\nup', message: 'PUT /x: 503: starting\\u{a}up', reason: '' },
    { why: 'JSON that is no Status', status: 500, body: '[1]', message: 'PUT /x: 500: [1]', reason: '' },
    { why: 'nothing', status: 502, body: '', message: 'PUT /x: 502', reason: '' },
    { why: 'a redirect, which is not followed', status: 302, body: '', message: 'PUT /x: 302', reason: '' },
  ])('with $why is an ApiError', async ({ status, body, message, reason }) => {
    const { client } = await fakeCluster((_request, response) => response.writeHead(status).end(body));
    const failed = client.request('PUT', '/x', { query: { secret: 1 }, body: {} });
    await expect(failed).rejects.toMatchObject({ name: 'ApiError', status, reason, message });
  });

  it('with a long answer repeats its beginning only', async () => {
    const { client } = await fakeCluster((_request, response) => response.writeHead(500).end('x'.repeat(100_000)));
    const error = await client.request('GET', '/x').catch((failed: Error) => failed.message);
    expect(error).toHaveLength('GET /x: 500: '.length + 1_000);
  });

  it('with an answer without an end reads its beginning only, and leaves no connection open', async () => {
    const { api, client } = await fakeCluster((_request, response) => writeForever(response.writeHead(500)));
    await expect(client.request('GET', '/x')).rejects.toMatchObject({ name: 'ApiError', status: 500 });
    await eventually(() => expect(api.connections().open).toBe(0));
  });

  it('with a success that is not JSON says so', async () => {
    const { client } = await fakeCluster((_request, response) => response.end('<html>'));
    await expect(client.request('GET', '/x')).rejects.toThrow(/^GET \/x: .*JSON/);
  });

  it('without a connection names method and path', async () => {
    const { client } = await clientFor('http://127.0.0.1:1');
    await expect(client.request('GET', '/x', { query: { a: 1 } })).rejects.toThrow(
      /^GET \/x: connect ECONNREFUSED 127\.0\.0\.1:1$/,
    );
  });

  it.each([
    { why: 'no answer', handler: silent },
    { why: 'half an answer', handler: ((_request, response) => response.write('{"a":')) as Handler },
  ])('for its time-out with $why says so, and leaves no connection open', async ({ handler }) => {
    const { api, client } = await fakeCluster(handler);
    await expect(client.request('GET', '/x', { timeoutMs: 50 })).rejects.toThrow('GET /x: no answer within 50 ms');
    await eventually(() => expect(api.connections().open).toBe(0));
  });

  it('for an answer longer than accepted stops reading it, and leaves no connection open', async () => {
    let written = 0;
    const { api, client } = await fakeCluster((_request, response) => {
      writeForever(response, () => {
        written += BLOCK.length;
      });
    });
    const failed = client.request('GET', '/x', { mostBytes: 200_000 });
    await expect(failed).rejects.toMatchObject({
      name: 'AnswerTooLongError',
      message: 'GET /x: the answer has more than 200000 bytes',
    });
    await eventually(() => expect(api.connections().open).toBe(0));
    // What the sockets of both sides buffer.
    expect(written).toBeLessThan(20_000_000);
  });

  it('because its signal was aborted has the reason as cause', async () => {
    const { client } = await fakeCluster(silent);
    const controller = new AbortController();
    const failed = client.request('GET', '/x', { signal: controller.signal });
    const reason = new Error('no longer needed');
    controller.abort(reason);
    await expect(failed).rejects.toMatchObject({ message: 'GET /x: no longer needed', cause: reason });
    await expect(client.request('GET', '/x', { signal: controller.signal })).rejects.toThrow('no longer needed');
  });

  it('never shows the token', async () => {
    const api = await startFakeApi(silent);
    const { client } = await clientFor(api.url, { user: { token: 'secret\nsecret' } });
    const error = await client.request('GET', '/x', { timeoutMs: 50 }).catch((failed: Error) => failed);
    expect(error).toBeInstanceOf(Error);
    expect(`${(error as Error).stack} ${JSON.stringify(error)} ${(error as Error).cause}`).not.toContain('secret');
  });
});

describe('connections', () => {
  it('are used again, and left when the client is closed', async () => {
    const { api, client } = await fakeCluster(echo);
    for (let i = 0; i < 5; i++) await client.request('POST', '/x', { body: { i } });
    expect(api.connections()).toEqual({ open: 1, made: 1 });
    client.close();
    await eventually(() => expect(api.connections().open).toBe(0));
    await expect(client.request('GET', '/x')).rejects.toThrow('GET /x: the client is closed');
  });

  it('that the server closes as they are used again cost a GET nothing, and are an error for what writes', async () => {
    const seen = new WeakSet<object>();
    const { api, client } = await fakeCluster(({ socket }, response) => {
      if (seen.has(socket)) return socket.destroy();
      seen.add(socket);
      return answer(response, {});
    });
    await client.request('GET', '/first');
    await client.request('GET', '/second');
    expect(api.received.map(({ path }) => path)).toEqual(['/first', '/second', '/second']);
    await expect(client.request('POST', '/third', { body: {} })).rejects.toThrow(
      'POST /third: the connection was closed',
    );
    expect(api.received.filter(({ path }) => path === '/third')).toHaveLength(1);
  });

  it('that are kept unused are closed when another one turned out dead', async () => {
    let quiet = false;
    const { api, client } = await fakeCluster((request, response) => {
      if (!quiet) setTimeout(() => answer(response, {}), request.path === '/slow' ? 20 : 0);
    });
    await Promise.all([client.request('GET', '/slow'), client.request('GET', '/slow'), client.request('GET', '/slow')]);
    expect(api.connections()).toEqual({ open: 3, made: 3 });
    quiet = true;
    await expect(client.request('GET', '/dead', { timeoutMs: 30 })).rejects.toThrow('no answer');
    await eventually(() => expect(api.connections().open).toBe(0));
  });

  it('leave no listener on a signal that lives long', async () => {
    const { client } = await fakeCluster((_request, response) => response.end('{}\n'));
    const { signal } = new AbortController();
    await client.request('GET', '/x', { signal });
    for await (const _line of client.lines('/x', { signal, idleMs: 1_000 })) break;
    await client.request('GET', '/x', { signal, timeoutMs: 0 }).catch(() => {});
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('credentials', () => {
  it('that the API server no longer accepts are read anew, at most every 10 s', async () => {
    const { api, client, file } = await fakeCluster(({ headers }, response) => {
      const known = headers.authorization === 'Bearer new-token';
      answer(response, known ? {} : refusal(401, 'Unauthorized', 'Unauthorized'), known ? 200 : 401);
    });
    const now = vi.spyOn(performance, 'now');
    const asked = () =>
      client.request('GET', '/x').then(
        () => 'answered',
        ({ status }) => status,
      );
    const later = (ms: number) => now.mockReturnValue(performance.now() + ms);
    try {
      later(11_000);
      expect(await asked()).toBe(401);
      writeFileSync(file, kubeconfigText(api.url, { user: { token: 'new-token' } }));
      later(5_000);
      expect([await asked(), await asked()]).toEqual([401, 401]);
      later(6_000);
      expect([await asked(), await asked()]).toEqual([401, 'answered']);
      writeFileSync(file, '{ broken');
      later(11_000);
      expect(await asked()).toBe('answered');
    } finally {
      now.mockRestore();
    }
  });
});
