import type { ServerResponse } from 'node:http';
import { describe, expect, it, vi } from 'vitest';
import { jsonLines } from '../../../../src/cluster/client/json-lines.ts';
import { eventually } from '../../eventually.ts';
import { stopClock, whenTrue } from '../../stopped-clock.ts';
import { answer, clientFor, type Handler, refusal, startFakeApi } from './fake-api.ts';

async function linesOf(handler: Handler, options: { idleMs?: number; onOpen?: () => void; signal?: AbortSignal } = {}) {
  const api = await startFakeApi(handler);
  const { client } = await clientFor(api.url);
  return { api, lines: client.lines('/w', { query: { watch: true }, idleMs: 1_000, ...options }) };
}

async function collect(lines: AsyncIterable<unknown>): Promise<{ values: unknown[]; error?: Error }> {
  const values: unknown[] = [];
  try {
    for await (const value of lines) values.push(value);
    return { values };
  } catch (error) {
    return { values, error: error as Error };
  }
}

const chunks =
  (...texts: string[]): Handler =>
  (_request, response) =>
    void writeSlowly(response, texts);

async function writeSlowly(response: ServerResponse, texts: string[]): Promise<void> {
  for (const text of texts) {
    await new Promise((resolve) => response.write(text, resolve));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  response.end();
}

describe('jsonLines', () => {
  const text = Buffer.from('{"a":"ä€🙂"}\n\n{"b":1}\r\n[2]\n');

  it('reads the same wherever the bytes are cut, also within a character', async () => {
    for (let first = 0; first <= text.length; first++) {
      for (let second = first; second <= text.length; second++) {
        const parts = [text.subarray(0, first), text.subarray(first, second), text.subarray(second)];
        const { values } = await collect(jsonLines(asyncOf(parts)));
        expect(values).toEqual([{ a: 'ä€🙂' }, { b: 1 }, [2]]);
      }
    }
  });

  async function* asyncOf(parts: Buffer[]): AsyncGenerator<Buffer> {
    yield* parts;
  }
});

describe('the lines of an answer', () => {
  it('come as they are sent, and end when the server ends them', async () => {
    const onOpen = vi.fn();
    const { api, lines } = await linesOf(chunks('{"n":1}\n{"n"', ':2}\n', '\n{"n":3}\n'), { onOpen });
    expect(await collect(lines)).toEqual({ values: [{ n: 1 }, { n: 2 }, { n: 3 }] });
    expect(onOpen).toHaveBeenCalledOnce();
    expect(api.received[0]).toMatchObject({ method: 'GET', path: '/w', query: { watch: 'true' } });
  });

  it.each([
    { why: 'that is not JSON', text: '{"n":1}\n{oops}\n', error: /^GET \/w: .*JSON/ },
    { why: 'that is cut off', text: '{"n":1}\n{"n":2}', error: /^GET \/w: the answer ended in the middle of a line$/ },
  ])('with a line $why end with an error after those before it', async ({ text, error }) => {
    const { lines } = await linesOf(chunks(text));
    const ended = await collect(lines);
    expect(ended.values).toEqual([{ n: 1 }]);
    expect(ended.error?.message).toMatch(error);
  });

  it('end with an error when the connection breaks', async () => {
    const { lines } = await linesOf(({ socket }, response) => response.write('{"n":1}\n', () => socket.destroy()));
    const { values, error } = await collect(lines);
    expect(values).toEqual([{ n: 1 }]);
    expect(error?.message).toBe('GET /w: the connection was closed');
  });

  it('end with an error when the body is not HTTP, and the process goes on', async () => {
    const { lines } = await linesOf(({ socket }) => {
      const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\n{"n":1}\n\r\n';
      socket.write(head, () => setImmediate(() => socket.write('no length of a chunk\r\n')));
    });
    const { values, error } = await collect(lines);
    expect(values).toEqual([{ n: 1 }]);
    expect(error?.message).toMatch(/^GET \/w: /);
  });

  it('end with an error after idleMs without a byte, counted from the last one', async () => {
    stopClock();
    let response: ServerResponse | undefined;
    const onOpen = vi.fn();
    const { api, lines } = await linesOf(
      (_request, answering) => {
        response = answering;
        answering.flushHeaders();
      },
      { idleMs: 800, onOpen },
    );
    const values: unknown[] = [];
    const ended = (async () => {
      for await (const value of lines) values.push(value);
    })().then(
      () => undefined,
      (error: Error) => error.message,
    );
    await whenTrue(() => onOpen.mock.calls.length > 0);
    // More than idleMs in all, and less each time.
    for (let sent = 1; sent <= 4; sent++) {
      vi.advanceTimersByTime(799);
      response?.write('{}\n');
      await whenTrue(() => values.length === sent);
    }
    vi.advanceTimersByTime(800);
    expect(await ended).toBe('GET /w: no byte for 800 ms');
    await whenTrue(() => api.connections().open === 0);
  });

  it('end with an error when the request is not even accepted', async () => {
    const onOpen = vi.fn();
    const { lines } = await linesOf(() => {}, { idleMs: 50, onOpen });
    expect((await collect(lines)).error?.message).toBe('GET /w: not accepted within 50 ms');
    expect(onOpen).not.toHaveBeenCalled();
  });

  it('that are refused are an ApiError', async () => {
    const { lines } = await linesOf((_request, response) =>
      response.writeHead(410).end(JSON.stringify(refusal(410, 'Expired', 'too old resource version'))),
    );
    const { error } = await collect(lines);
    expect(error).toMatchObject({ name: 'ApiError', status: 410, reason: 'Expired' });
  });

  it('close their connection once the caller stops reading them', async () => {
    const { api, lines } = await linesOf((_request, response) => response.write('{"n":1}\n{"n":2}\n'));
    for await (const line of lines) {
      expect(line).toEqual({ n: 1 });
      break;
    }
    await eventually(() => expect(api.connections()).toEqual({ open: 0, made: 1 }));
  });

  it('end at once when the signal is aborted', async () => {
    const controller = new AbortController();
    const { api, lines } = await linesOf((_request, response) => response.flushHeaders(), {
      signal: controller.signal,
      onOpen: () => controller.abort(new Error('stopped')),
    });
    expect((await collect(lines)).error?.message).toBe('GET /w: stopped');
    await eventually(() => expect(api.connections().open).toBe(0));
  });

  it('close their connection if the onOpen callback throws', async () => {
    const { api, lines } = await linesOf((_request, response) => response.flushHeaders(), {
      onOpen() {
        throw new Error('on purpose');
      },
    });
    expect((await collect(lines)).error?.message).toBe('GET /w: on purpose');
    await eventually(() => expect(api.connections().open).toBe(0));
  });

  it('give their connection back when they have ended', async () => {
    const api = await startFakeApi(chunks('{}\n'));
    const { client } = await clientFor(api.url);
    for (let i = 0; i < 3; i++) await collect(client.lines('/w', { idleMs: 1_000 }));
    expect(api.connections()).toEqual({ open: 1, made: 1 });
  });
});

describe('lines that nothing comes on while the API server is out of reach', () => {
  /** A server that answers nothing at `/silent`, and a stream without a line. */
  async function streaming() {
    const api = await startFakeApi(({ path }, response) => {
      if (path === '/w') response.flushHeaders();
      else if (path === '/ok') answer(response, {});
    });
    const { client } = await clientFor(api.url);
    const stream = () => {
      const opened = Promise.withResolvers<void>();
      const stopping = new AbortController();
      const { signal } = stopping;
      const ended = collect(client.lines('/w', { idleMs: 60_000, signal, onOpen: opened.resolve }));
      return { opened: opened.promise, ended, stop: () => stopping.abort(new Error('stopped')) };
    };
    const silence = () => expect(client.request('GET', '/silent', { timeoutMs: 20 })).rejects.toThrow('no answer');
    return { client, stream, silence };
  }

  it('end as soon as it answers again: what was sent meanwhile may never come', async () => {
    const { client, stream, silence } = await streaming();
    const { opened, ended } = stream();
    await opened;
    await silence();
    await client.request('GET', '/ok');
    expect(await ended).toMatchObject({
      values: [],
      error: { message: 'GET /w: the API server was out of reach meanwhile' },
    });
  });

  it('stay until then, and so do those that began since', async () => {
    const { client, stream, silence } = await streaming();
    const before = stream();
    await before.opened;
    await silence();
    before.stop();
    expect((await before.ended).error?.message).toBe('GET /w: stopped');
    const since = stream();
    await since.opened;
    await client.request('GET', '/ok');
    since.stop();
    expect((await since.ended).error?.message).toBe('GET /w: stopped');
  });

  it('stay if they received bytes since the request that timed out was sent: it alone was slow', async () => {
    const streams: ServerResponse[] = [];
    const api = await startFakeApi(({ path }, response) => {
      if (path === '/ok') answer(response, {});
      else if (path === '/silent') {
        expect(streams).toHaveLength(2);
        streams[0]?.write('{"n":1}\n');
      } else {
        streams.push(response);
        response.flushHeaders();
      }
    });
    const { client } = await clientFor(api.url);
    const stopping = new AbortController();
    const open = async () => {
      const opened = Promise.withResolvers<void>();
      const values: unknown[] = [];
      const lines = client.lines('/w', { idleMs: 60_000, signal: stopping.signal, onOpen: opened.resolve });
      const ended = (async () => {
        for await (const value of lines) values.push(value);
      })().catch(({ message }: Error) => message);
      await opened.promise;
      return { values, ended };
    };
    const alive = await open();
    const quiet = await open();
    const silent = client.request('GET', '/silent', { timeoutMs: 500 });
    await expect(silent).rejects.toThrow('no answer');
    expect(alive.values).toEqual([{ n: 1 }]);
    await client.request('GET', '/ok');
    expect(await quiet.ended).toBe('GET /w: the API server was out of reach meanwhile');
    streams[0]?.write('{"n":2}\n');
    await eventually(() => expect(alive.values).toEqual([{ n: 1 }, { n: 2 }]));
    stopping.abort(new Error('stopped'));
    expect(await alive.ended).toBe('GET /w: stopped');
  });
});
