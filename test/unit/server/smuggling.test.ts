import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/replica/metrics.ts';
import { createAdminServer } from '../../../src/server/admin-server.ts';
import { harmlessReview } from '../reviews.ts';
import { openTls, readToEnd } from './raw-connections.ts';
import { ALIVE, startServer } from './running-server.ts';

/** What an attacker would have answered as a request of its own, on either listener. */
const SMUGGLED = 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n';

const head = (path: string, ...fields: readonly string[]) =>
  `${['POST', path, 'HTTP/1.1'].join(' ')}\r\nHost: localhost\r\nContent-Type: application/json\r\n${fields.join('\r\n')}\r\n\r\n`;
const END = '0\r\n\r\n';

/** Requests whose end two readers could see in two places. */
const AMBIGUOUS = [
  { why: 'a length and chunks', fields: ['Content-Length: 5', 'Transfer-Encoding: chunked'], body: END },
  { why: 'chunks and a length', fields: ['Transfer-Encoding: chunked', 'Content-Length: 5'], body: END },
  { why: 'two lengths', fields: ['Content-Length: 2', 'Content-Length: 60'], body: '{}' },
  { why: 'two lengths in one field', fields: ['Content-Length: 2, 60'], body: '{}' },
  { why: 'a length with a sign', fields: ['Content-Length: +2'], body: '{}' },
  { why: 'a length below zero', fields: ['Content-Length: -1'], body: '{}' },
  { why: 'white space before the colon', fields: ['Content-Length : 2'], body: '{}' },
  { why: 'a field that is folded', fields: ['Content-Length:', ' 2'], body: '{}' },
  { why: 'another encoding after the chunks', fields: ['Transfer-Encoding: chunked, identity'], body: END },
  { why: 'chunks said twice', fields: ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked, x'], body: END },
  { why: 'an unknown encoding', fields: ['Transfer-Encoding: xchunked'], body: END },
  { why: 'a chunk whose size is no number', fields: ['Transfer-Encoding: chunked'], body: `0x2\r\n{}\r\n${END}` },
  { why: 'a chunk that is longer than it says', fields: ['Transfer-Encoding: chunked'], body: `1\r\n{}\r\n${END}` },
  { why: 'a field with a line feed alone', fields: ['X: a\nContent-Length: 2'], body: '{}' },
] as const;

describe('the webhook takes for one request, and refuses, what has', () => {
  it.each(AMBIGUOUS)('$why', async ({ fields, body }) => {
    const server = await startServer();
    const client = await openTls(server.port);
    client.write(head('/validate', ...fields) + body + SMUGGLED);

    // The webhook knows no /metrics: it would answer 404. Chunks are refused at once, and then what is wrong with them.
    expect([[400], [411], [411, 400]]).toContainEqual(statuses(await readToEnd(client)));
    expect(await server.aliveAnswer()).toEqual(ALIVE);
  });
});

describe('so does the plain listener, of', () => {
  it.each(AMBIGUOUS)('$why', async ({ fields, body }) => {
    const client = connect({ host: '127.0.0.1', port: await startAdmin() });
    onTestFinished(() => void client.destroy());
    client.write(head('/livez', ...fields) + body + SMUGGLED);

    // It would answer 200 for /metrics.
    expect([[400], [404], [415], [411], [411, 400]]).toContainEqual(statuses(await readToEnd(client)));
  });
});

it('a request within a body stays a body', async () => {
  const server = await startServer();
  const client = await openTls(server.port);
  client.write(head('/validate', `Content-Length: ${SMUGGLED.length}`, 'Connection: close') + SMUGGLED);

  expect(statuses(await readToEnd(client))).toEqual([400]);
});

it('requests that were sent at once are answered one by one, each by its own path, and the other listener is none of them', async () => {
  const server = await startServer();
  const client = await openTls(server.port);
  const review = JSON.stringify(harmlessReview());
  const ask = (path: string, ...fields: string[]) => head(path, `Content-Length: ${review.length}`, ...fields) + review;
  client.write(ask('/validate') + SMUGGLED + ask('/mutate') + ask('/livez') + ask('/validate', 'Connection: close'));

  expect(statuses(await readToEnd(client))).toEqual([200, 404, 200, 404, 200]);
});

it('an upgrade is no way out of HTTP', async () => {
  const server = await startServer();
  const client = await openTls(server.port);
  client.write(`${head('/validate', 'Connection: Upgrade', 'Upgrade: h2c', 'Content-Length: 2')}{}`);
  client.write(`${head('/validate', 'Connection: close', 'Content-Length: 2')}{}`);

  expect(statuses(await readToEnd(client))).toEqual([400, 400]);
});

/** The statuses of all answers on one connection. */
function statuses(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

/** The plain listener on a free port, which goes with the running test. */
async function startAdmin(): Promise<number> {
  const app = createAdminServer({ checks: () => [], registry: createMetrics('test').registry });
  onTestFinished(() => app.close());
  return Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);
}
