import type { AddressInfo } from 'node:net';
import { Registry } from '@prometheus-io/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDecisionLog } from '../../../src/page/decision-log.ts';
import { createExplanations } from '../../../src/page/explanations.ts';
import { pageRoutes } from '../../../src/page/page-routes.ts';
import { createStateFeed } from '../../../src/page/state-feed.ts';
import { buildOf, readPageFiles } from '../../../src/page/static-files.ts';
import { createAdminServer } from '../../../src/server/admin-server.ts';
import { nodeRequest } from '../admission/requests.ts';
import { judged, nodeObject, taint } from './judged.ts';
import { pageSources } from './page-sources.ts';
import { openStream } from './streams.ts';

/** By the API server's clock. */
const NOW = new Date('2026-03-14T12:00:00Z');

const FILES = { 'index.html': '<meta name="build" content="{build}">', 'page.js': 'export {}', 'page.css': 'p {}' };
const BUILD = buildOf(FILES);

function adminWithPage() {
  let audit = false;
  const decisions = createDecisionLog({ replica: 'tk-1' });
  const feed = createStateFeed(
    pageSources({ checks: () => [{ name: 'policies', state: 'ok', detail: String(audit) }] }),
    {
      maxAgeMs: 0,
      pauseMs: 0,
      build: BUILD,
    },
  );
  const explain = createExplanations(pageSources());
  const admin = createAdminServer({
    checks: () => [],
    registry: new Registry(),
    // An injected request comes by no address.
    page: pageRoutes({ files: FILES, build: BUILD, feed, decisions, explain, now: () => NOW }, undefined, () => true),
  });
  onTestFinished(() => admin.close());
  return {
    admin,
    decide(uid: string) {
      const request = nodeRequest({ object: nodeObject([]), oldObject: nodeObject([taint('keep')]) });
      decisions.record(judged({ ...request, uid }, 'validate'));
    },
    change: () => {
      audit = true;
    },
    async listen() {
      await admin.listen({ host: '127.0.0.1', port: 0 });
      return `http://127.0.0.1:${(admin.server.address() as AddressInfo).port}`;
    },
  };
}

const get = (url: string, headers: Record<string, string> = {}) =>
  adminWithPage().admin.inject({ url, headers: { host: 'localhost', ...headers } });

describe('files', () => {
  it.each([
    { url: '/', type: 'text/html; charset=utf-8', body: FILES['index.html'].replace('{build}', BUILD) },
    { url: '/page.js', type: 'text/javascript; charset=utf-8', body: FILES['page.js'] },
    { url: '/page.css', type: 'text/css; charset=utf-8', body: FILES['page.css'] },
  ])('$url', async ({ url, type, body }) => {
    const answer = await get(url);
    expect([answer.statusCode, answer.headers['content-type'], answer.body]).toEqual([200, type, body]);

    const again = await get(url, { 'if-none-match': `W/"x", ${answer.headers.etag}` });
    expect([again.statusCode, again.body]).toEqual([304, '']);
  });
});

it('index.html has the build that each state has', async () => {
  const { build } = (await get('/api/state')).json();
  expect((await get('/')).body).toBe(`<meta name="build" content="${build}">`);
  expect((await readPageFiles())['index.html']).toContain(FILES['index.html']);
});

it.each(['/', '/page.js', '/api/state'])('%s lets the browser do nothing but what the page needs', async (url) => {
  expect((await get(url)).headers).toMatchObject({
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
  });
});

it.each(['/', '/page.js', '/api/state', '/api/events', '/api/explain/node/n1'])(
  '%s is refused to a page of others',
  async (url) => {
    const rebound = await get(url, { host: 'evil.example' });
    expect([rebound.statusCode, rebound.headers['content-security-policy']]).toEqual([403, expect.any(String)]);
    expect((await get(url, { 'sec-fetch-site': 'cross-site' })).statusCode).toBe(403);
  },
);

it('says in plain text why there is no explanation, also of a name as long as names get', async () => {
  const answer = await get(`/api/explain/node/${'a'.repeat(253)}`);
  expect([answer.statusCode, answer.headers['content-type'], answer.headers['cache-control']]).toEqual([
    404,
    'text/plain; charset=utf-8',
    'no-store',
  ]);
  expect(answer.body).toContain('takes its policies from files');
});

it.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'] as const)('%s finds nothing', async (method) => {
  for (const url of ['/', '/api/state', '/api/events', '/api/explain/node/n1']) {
    expect((await adminWithPage().admin.inject({ method, url, headers: { host: 'localhost' } })).statusCode).toBe(404);
  }
});

it('the probes answer every request, with any host name', async () => {
  const answer = await get('/livez', { host: 'taintkeeper.example' });
  expect([answer.statusCode, answer.headers['content-security-policy']]).toEqual([200, undefined]);
});

it('/api/state is sent once, and then only after a change', async () => {
  const { admin, change } = adminWithPage();
  const ask = (etag = '') => admin.inject({ url: '/api/state', headers: { host: 'localhost', 'if-none-match': etag } });
  const first = await ask();
  expect(first.json()).toMatchObject({ replica: 'tk-1', checks: [{ detail: 'false' }] });
  const etag = String(first.headers.etag);
  expect((await ask(etag)).statusCode).toBe(304);
  change();
  expect((await ask(etag)).json()).toMatchObject({ checks: [{ detail: 'true' }] });
});

it('/api/state bears the time by the clock of all times in it, also if nothing has changed', async () => {
  const first = await get('/api/state');
  const again = await get('/api/state', { 'if-none-match': String(first.headers.etag) });
  expect([first, again].map(({ statusCode, headers }) => [statusCode, headers.date])).toEqual([
    [200, NOW.toUTCString()],
    [304, NOW.toUTCString()],
  ]);
});

describe('/api/events', () => {
  it('has the decisions that there are, and each further one at once', async () => {
    const { decide, listen } = adminWithPage();
    decide('a');
    decide('b');
    const stream = await openStream(`${await listen()}/api/events`);
    expect(stream.headers).toMatchObject({ 'content-type': 'text/event-stream', 'x-content-type-options': 'nosniff' });
    expect([await stream.nextDecision(), await stream.nextDecision()]).toMatchObject([{ uid: 'a' }, { uid: 'b' }]);
    decide('c');
    expect(await stream.nextDecision()).toMatchObject({ uid: 'c', result: 'denied', user: 'dev' });
  });

  it('goes on where a reader was cut off', async () => {
    const { decide, listen } = adminWithPage();
    for (const uid of ['a', 'b', 'c']) decide(uid);
    const url = `${await listen()}/api/events`;
    const { id } = await (await openStream(url)).nextDecision();
    expect(await (await openStream(url, { 'last-event-id': String(id) })).nextDecision()).toMatchObject({ uid: 'b' });
    // That of a process that is no more.
    expect(await (await openStream(url, { 'last-event-id': 'tk-1/x/7' })).nextDecision()).toMatchObject({ uid: 'a' });
  });

  it('says which state there is, and when it is another one', async () => {
    const { admin, change, listen } = adminWithPage();
    const stream = await openStream(`${await listen()}/api/events`);
    const etag = async () => (await admin.inject({ url: '/api/state', headers: { host: 'localhost' } })).headers.etag;
    expect(await stream.next()).toEqual({ type: 'state', id: undefined, data: JSON.stringify(await etag()) });
    change();
    expect(await stream.next()).toEqual({ type: 'state', id: undefined, data: JSON.stringify(await etag()) });
  });

  it('ends when the server closes', async () => {
    const { admin, listen } = adminWithPage();
    const stream = await openStream(`${await listen()}/api/events`);
    await stream.next();
    await admin.close();
    await stream.ended;
  });
});
