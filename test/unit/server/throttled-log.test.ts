import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BODY_LIMIT_BYTES } from '../../../src/server/json-body.ts';
import { harmlessReview, nodeObject, nodeUpdateReview } from '../reviews.ts';
import { type ServerOptions, startServer } from './running-server.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const tooLarge = (n: number) =>
  harmlessReview({ uid: `uid-${n}`, object: nodeObject([], { labels: { filled: 'x'.repeat(BODY_LIMIT_BYTES) } }) });

describe.each<{ what: RegExp; body: (n: number) => unknown; options?: ServerOptions }>([
  { what: /^unreadable request: /, body: (n) => `not JSON ${n}` },
  { what: /^malformed review: /, body: (n) => ({ ...harmlessReview(), apiVersion: `v${n}` }) },
  { what: /^malformed object: /, body: (n) => nodeUpdateReview([], n, { uid: `uid-${n}`, name: `node-${n}` }) },
  { what: /^a review is too large$/, body: tooLarge },
  {
    what: /^judging failed$/,
    body: (n) => harmlessReview({ uid: `uid-${n}` }),
    options: { failing: new Error('no policies yet') },
  },
])('lines about requests that were not judged: $what', ({ what, body, options }) => {
  it('one sender gets one in ten seconds, whatever it writes, and it counts the others', async () => {
    const server = await startServer(options);
    for (let n = 0; n < 3; n++) await server.post(body(n));
    vi.advanceTimersByTime(10_000);
    await server.post(body(3));

    expect(server.log.lines().map(({ msg, repeated }) => [msg, repeated])).toEqual([
      [expect.stringMatching(what), undefined],
      [expect.stringMatching(what), 3],
    ]);
  });

  it('a sender does not hide the lines of another one', async () => {
    const server = await startServer(options);
    for (const localAddress of ['127.0.0.1', '127.0.0.1', '127.0.0.2']) await server.post(body(0), { localAddress });

    expect(server.log.lines().map(({ origin }) => origin)).toEqual(['127.0.0.1', '127.0.0.2']);
  });
});
