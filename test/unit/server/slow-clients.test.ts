import { Registry } from '@prometheus-io/client';
import { expect, it, onTestFinished } from 'vitest';
import { createAdminServer } from '../../../src/server/admin-server.ts';
import { CLIENT_TIMEOUTS, type ClientTimeouts } from '../../../src/server/client-timeouts.ts';
import { eventually } from '../eventually.ts';
import { harmlessReview } from '../reviews.ts';
import { openRaw, openTls, readToEnd } from './raw-connections.ts';
import { ALIVE, startServer } from './running-server.ts';

/** A limit that a slow client meets soon. On a busy machine, one that is not slow may meet it as well, so the others stay as they are. */
const short = (limit: 'handshakeMs' | 'headersMs' | 'bodyMs'): ClientTimeouts => ({
  ...CLIENT_TIMEOUTS,
  [limit]: 200,
  checkIntervalMs: 20,
});

/** A busy machine may take longer than {@link short} for a request of this one, too. */
const servesOthers = ({ aliveAnswer }: Awaited<ReturnType<typeof startServer>>) =>
  eventually(async () => expect(await aliveAnswer()).toEqual(ALIVE));

const BODY = JSON.stringify(harmlessReview());
const HEAD = [
  'POST /validate HTTP/1.1',
  'Host: localhost',
  'Content-Type: application/json',
  `Content-Length: ${BODY.length}`,
  '',
  '',
].join('\r\n');

it('a client that dribbles its body is told 408 when the request takes too long, and others are served meanwhile', async () => {
  const server = await startServer({ timeouts: short('bodyMs') });
  let dribbled = await dribble(server.port);
  // A byte that arrives after the end of the connection makes TCP discard an answer that the client has not read yet.
  for (let tries = 1; dribbled.answer === '' && tries < 5; tries++) dribbled = await dribble(server.port);

  expect(dribbled.answer).toMatch(/^HTTP\/1\.1 408 /);
  expect(dribbled.sent).toBeGreaterThan(1);
  expect(dribbled.sent).toBeLessThan(BODY.length);
  await servesOthers(server);

  async function dribble(port: number) {
    const slow = await openTls(port);
    slow.write(HEAD);
    let sent = 0;
    const timer = setInterval(() => slow.write(BODY[sent++] ?? ''), 10);
    slow.once('close', () => clearInterval(timer));
    const answer = readToEnd(slow);
    await servesOthers(server);
    return { answer: await answer, sent };
  }
});

it.each([
  { why: 'stops in the middle of its headers', text: HEAD.slice(0, 40) },
  { why: 'never sends a byte after the handshake', text: '' },
])('a client that $why is told 408', async ({ text }) => {
  const server = await startServer({ timeouts: short('headersMs') });
  const slow = await openTls(server.port);
  slow.write(text);

  expect(await readToEnd(slow)).toMatch(/^HTTP\/1\.1 408 /);
  await servesOthers(server);
});

it('a client that never begins the handshake is cut off', async () => {
  const server = await startServer({ timeouts: short('handshakeMs') });

  expect(await readToEnd(await openRaw(server.port))).toBe('');
  await servesOthers(server);
});

it('a client that goes away in the middle of its body leaves nothing behind', async () => {
  const server = await startServer();
  const inFlight = async () =>
    (await server.metrics.registry.getSingleMetric('taintkeeper_admission_in_flight')?.get())?.values[0]?.value;
  const leaving = await openTls(server.port);
  leaving.write(HEAD + BODY.slice(0, 10));
  await eventually(async () => expect(await inFlight()).toBe(1));
  leaving.destroy();

  await eventually(async () => expect(await inFlight()).toBe(0));
  expect(server.log.lines()).toEqual([]);
  expect(await server.aliveAnswer()).toEqual(ALIVE);
});

it('the plain listener, too, cuts off who stops in the middle of its headers, or says nothing', async () => {
  const admin = createAdminServer({ checks: () => [], registry: new Registry(), requestTimeoutMs: 200 });
  onTestFinished(() => admin.close());
  const { port, origin } = new URL(await admin.listen({ host: '127.0.0.1', port: 0 }));
  const [slow, silent] = [await openRaw(Number(port)), await openRaw(Number(port))];
  slow.write('GET /metrics HTTP/1.1\r\nHost:');

  expect(await readToEnd(slow)).toMatch(/^HTTP\/1\.1 408 /);
  expect(await readToEnd(silent)).toMatch(/^HTTP\/1\.1 408 /);
  // A busy machine may take longer than that for a request of this one, too.
  await expect.poll(async () => (await fetch(`${origin}/livez`)).status).toBe(200);
});

it('headers that never end are cut off at 431', async () => {
  const server = await startServer();
  const client = await openTls(server.port);
  client.write(`POST /validate HTTP/1.1\r\nX: ${'x'.repeat(32_768)}`);

  expect(await readToEnd(client)).toMatch(/^HTTP\/1\.1 431 /);
  expect(await server.aliveAnswer()).toEqual(ALIVE);
});

it('what is not HTTP is told 400', async () => {
  const server = await startServer();
  const client = await openTls(server.port);
  client.write('HELO localhost\r\n\r\n');

  expect(await readToEnd(client)).toMatch(/^HTTP\/1\.1 400 /);
  expect(await server.aliveAnswer()).toEqual(ALIVE);
});

it('two requests sent at once on one connection are both answered', async () => {
  const server = await startServer();
  const client = await openTls(server.port);
  client.write(HEAD + BODY + HEAD.replace('Host:', 'Connection: close\r\nHost:') + BODY);

  expect((await readToEnd(client)).match(/HTTP\/1\.1 200 /g)).toHaveLength(2);
});

it('a connection that was opened in reserve is there when it is needed', async () => {
  const server = await startServer({ timeouts: short('bodyMs') });
  const reserve = await openTls(server.port);
  const slow = await openTls(server.port);
  slow.write(HEAD);
  expect(await readToEnd(slow)).toMatch(/^HTTP\/1\.1 408 .*the request took too long to arrive/s);

  reserve.write(HEAD.replace('Host:', 'Connection: close\r\nHost:') + BODY);
  expect(await readToEnd(reserve)).toMatch(/^HTTP\/1\.1 200 /);
});

it('production waits longer for a request than the API server keeps an idle connection (90 s), a used one or a new one', () => {
  expect(CLIENT_TIMEOUTS.keepAliveMs).toBeGreaterThan(90_000);
  expect(CLIENT_TIMEOUTS.headersMs).toBeGreaterThan(90_000);
});
