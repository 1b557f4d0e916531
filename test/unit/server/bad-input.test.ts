import { describe, expect, it } from 'vitest';
import { BODY_LIMIT_BYTES, DISCARDED_LIMIT_BYTES } from '../../../src/server/json-body.ts';
import { LEVEL } from '../captured-log.ts';
import { harmlessReview, nodeObject } from '../reviews.ts';
import { openTls, readToEnd } from './raw-connections.ts';
import { nested } from './review-texts.ts';
import { ALIVE, type PostOptions, startServer } from './running-server.ts';

const MIB = 1024 * 1024;

describe('what is no review is refused with an error that says why, and the server goes on', () => {
  it.each<{ why: string; body: unknown; options?: PostOptions; status: number; error: string | RegExp }>([
    { why: 'no body, no content type', body: undefined, status: 400, error: 'expected an AdmissionReview' },
    {
      why: 'no body',
      body: undefined,
      options: { headers: { 'content-type': 'application/json' } },
      status: 400,
      error: 'the body is empty',
    },
    { why: 'an empty body', body: '', status: 400, error: 'the body is empty' },
    { why: 'white space', body: ' \n', status: 400, error: /^the body is not JSON: / },
    {
      why: 'truncated JSON',
      body: JSON.stringify(harmlessReview()).slice(0, -20),
      status: 400,
      error: /^the body is not JSON: /,
    },
    { why: 'binary garbage', body: Buffer.from([0, 255, 254, 128, 7]), status: 400, error: /^the body is not JSON: / },
    { why: 'null', body: 'null', status: 400, error: 'expected an AdmissionReview' },
    { why: 'a number', body: '7', status: 400, error: 'expected an AdmissionReview' },
    { why: 'a list of reviews', body: [harmlessReview()], status: 400, error: 'expected an AdmissionReview' },
    { why: 'an object of another kind', body: nodeObject([]), status: 400, error: 'expected an AdmissionReview' },
    {
      why: 'a review without request',
      body: { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' },
      status: 400,
      error: 'request is missing',
    },
    {
      why: 'a review whose request is a list',
      body: { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: [] },
      status: 400,
      error: 'request is missing',
    },
    {
      why: 'a review without uid',
      body: harmlessReview({ uid: undefined }),
      status: 400,
      error: 'request: uid is missing',
    },
    { why: 'a review with an empty uid', body: harmlessReview({ uid: '' }), status: 400, error: /^request\.uid: / },
    {
      why: 'a review whose uid is a number',
      body: harmlessReview({ uid: 5 }),
      status: 400,
      error: 'request.uid: expected a string, got 5',
    },
    { why: '60,000 nested lists', body: nested(60_000), status: 400, error: 'expected an AdmissionReview' },
    {
      why: 'a review in the prototype key',
      body: `{"__proto__":${JSON.stringify(harmlessReview())}}`,
      status: 400,
      error: 'expected an AdmissionReview',
    },
    {
      why: 'a body over the limit that says its length',
      body: Buffer.alloc(20 * MIB, ' '),
      status: 413,
      error: 'the body is too large, and does not begin as a review of an API server',
    },
    {
      why: 'a body in chunks',
      body: JSON.stringify(harmlessReview()),
      options: { headers: { 'transfer-encoding': 'chunked' } },
      status: 411,
      error: 'send the body with a Content-Length, not in chunks',
    },
    {
      why: 'a review sent as YAML',
      body: JSON.stringify(harmlessReview()),
      options: { headers: { 'content-type': 'application/yaml' } },
      status: 415,
      error: 'unsupported content type: send application/json',
    },
    {
      why: 'a review sent as plain text',
      body: JSON.stringify(harmlessReview()),
      options: { headers: { 'content-type': 'text/plain' } },
      status: 415,
      error: 'unsupported content type: send application/json',
    },
    {
      why: 'a content type that is none',
      body: JSON.stringify(harmlessReview()),
      options: { headers: { 'content-type': ';;' } },
      status: 415,
      error: 'unsupported content type: send application/json',
    },
    {
      why: 'GET /validate',
      body: undefined,
      options: { method: 'GET' },
      status: 404,
      error: 'not found: POST an AdmissionReview to /validate or /mutate',
    },
    {
      why: 'a review for an unknown path',
      body: harmlessReview(),
      options: { path: '/validate/nodes' },
      status: 404,
      error: 'not found: POST an AdmissionReview to /validate or /mutate',
    },
  ])('$why', async ({ body, options, status, error }) => {
    const server = await startServer();
    const answer = await server.post(body, options);

    expect(answer.status).toBe(status);
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    expect(JSON.parse(answer.text)).toEqual({
      error: typeof error === 'string' ? error : expect.stringMatching(error),
    });
    expect(await server.aliveAnswer()).toEqual(ALIVE);
  });
});

it('a path that cannot be decoded is refused', async () => {
  const server = await startServer();

  expect((await server.post(harmlessReview(), { path: '/%zz' })).status).toBe(400);
  expect(await server.aliveAnswer()).toEqual(ALIVE);
});

it('a body that says to be longer than any review is refused before it is read', async () => {
  const server = await startServer();
  const client = await openTls(server.port);
  const length = DISCARDED_LIMIT_BYTES + 1;
  client.write(
    `POST /validate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`,
  );

  expect(await readToEnd(client)).toMatch(/^HTTP\/1\.1 413 .*the body is larger than 67108864 bytes/s);
  expect(await server.aliveAnswer()).toEqual(ALIVE);
});

describe('what cannot be read is one line in the log, at level warn:', () => {
  it.each<{ why: string; body: unknown; options?: PostOptions; status: number; msg: RegExp }>([
    { why: 'no JSON', body: '{"a":', status: 400, msg: /^unreadable request: the body is not JSON: / },
    { why: 'an empty body', body: '', status: 400, msg: /^unreadable request: the body is empty$/ },
    {
      why: 'another content type',
      body: '{}',
      options: { headers: { 'content-type': 'application/yaml' } },
      status: 415,
      msg: /^unreadable request: unsupported content type: send application\/json$/,
    },
    {
      why: 'too large a body',
      body: Buffer.alloc(BODY_LIMIT_BYTES + 1, ' '),
      status: 413,
      msg: /^unreadable request: the body is too large, and does not begin as a review of an API server$/,
    },
    {
      why: 'no JSON with control characters',
      body: '\u001B[31m\u202E\n',
      status: 400,
      msg: /^unreadable request: the body is not JSON: [^\p{C}]*$/u,
    },
  ])('$why', async ({ body, options, status, msg }) => {
    const server = await startServer();
    await server.post(body, { ...options, path: '/mutate?timeout=10s' });

    expect(server.log.lines()).toEqual([
      {
        level: LEVEL.warn,
        time: expect.any(Number),
        origin: '127.0.0.1',
        path: '/mutate',
        status,
        msg: expect.stringMatching(msg),
      },
    ]);
  });
});
