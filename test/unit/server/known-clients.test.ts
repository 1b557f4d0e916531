import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { expect, it, onTestFinished } from 'vitest';
import { issueCa, issueServing } from '../../../src/certs/issue.ts';
import { type Authority, createAuthority, type KeyPair } from '../../control-plane/credentials.ts';
import { eventually } from '../eventually.ts';
import { NAMES, start } from '../replica/running-app.ts';
import { harmlessReview, taintRemovalReview } from '../reviews.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

const [apiServers, others] = await Promise.all([createAuthority(), createAuthority()]);
const apiServer = await apiServers.client({ name: 'kube-apiserver', groups: [] });

/** The app, which only clients of the API servers' CA may call. */
async function startWithClientCa() {
  const caFile = join(temporaryDirectory(), 'client-ca.crt');
  const trust = ({ cert }: Authority) => writeFileSync(caFile, cert);
  trust(apiServers);
  const app = await start({ clientCa: caFile, names: NAMES });
  return { ...app, caFile, trust, call: (pair?: KeyPair, review?: object) => call(app, pair, review) };
}

/** What a client with this certificate, or without any, is told. */
async function call(
  { url, ca }: { url: string; ca(): string },
  pair?: KeyPair,
  review: object = harmlessReview(),
  localAddress = '127.0.0.1',
) {
  const body = JSON.stringify(review);
  const outgoing = request(`${url}/validate`, {
    method: 'POST',
    agent: false,
    ...{ ca: ca(), ...pair, localAddress },
    headers: { 'content-type': 'application/json' },
  });
  outgoing.end(body);
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  return [response.statusCode, ((await json(response)) as { error?: string }).error];
}

it('a client with a certificate of the CA is answered; one without, or with one of another CA, is not', async () => {
  const { call, log } = await startWithClientCa();

  expect(await call(apiServer)).toEqual([200, undefined]);
  expect(await call()).toEqual([401, 'a client certificate is needed: only the API server may call']);
  const foreign = await others.client({ name: 'kube-apiserver', groups: [] });
  expect(await call(foreign)).toEqual([401, expect.stringMatching(/^the client certificate is not accepted: /)]);
  expect(log.lines().filter(({ msg }) => msg.startsWith('refused a client: '))).toEqual([
    expect.objectContaining({ origin: '127.0.0.1', level: 40 }),
    expect.objectContaining({ origin: '127.0.0.1', level: 40 }),
  ]);
});

it('a client that is refused again and again is one line in ten seconds, and does not hide another one', async () => {
  const app = await startWithClientCa();
  for (let n = 0; n < 3; n++) expect((await app.call())[0]).toBe(401);
  expect((await call(app, undefined, harmlessReview(), '127.0.0.2'))[0]).toBe(401);

  expect(app.log.lines().filter(({ msg }) => msg.startsWith('refused a client: '))).toEqual([
    expect.objectContaining({ origin: '127.0.0.1', level: 40 }),
    expect.objectContaining({ origin: '127.0.0.2', level: 40 }),
  ]);
});

it('the log says which client sent a review, by its address and its certificate, whatever the review says', async () => {
  const { call, log } = await startWithClientCa();
  await call(apiServer, taintRemovalReview());
  expect(log.lines().filter(({ result }) => result !== undefined)).toMatchObject([
    { origin: '127.0.0.1 kube-apiserver', user: 'dev@example.com' },
  ]);
});

it('a certificate of the CA that is not for clients is not accepted', async () => {
  const { call, caFile } = await startWithClientCa();
  const ca = await issueCa(new Date());
  const serving = await issueServing(ca, ['localhost'], new Date());
  writeFileSync(caFile, ca.cert);
  await eventually(async () => expect((await call(apiServer))[0]).toBe(401));

  expect(await call(serving)).toEqual([401, expect.stringContaining('INVALID_PURPOSE')]);
});

it('a stranger that does not say how much it sends is not waited for', async () => {
  const { url, ca } = await startWithClientCa();
  const outgoing = request(`${url}/mutate`, {
    method: 'POST',
    agent: false,
    ca: ca(),
    headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
  });
  onTestFinished(() => void outgoing.destroy());
  outgoing.on('error', () => {});
  outgoing.flushHeaders();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];

  expect([response.statusCode, response.headers.connection]).toEqual([411, 'close']);
});

it('another CA is taken over without a restart, and a file that is broken is not', async () => {
  const { call, trust, caFile, log } = await startWithClientCa();
  const foreign = await others.client({ name: 'kube-apiserver', groups: [] });
  writeFileSync(caFile, 'half a file');
  await eventually(() => expect(log.text()).toContain('CAs of clients not replaced, the last good ones stay'));
  expect((await call(apiServer))[0]).toBe(200);

  trust(others);
  await eventually(async () => expect((await call(foreign))[0]).toBe(200));
  expect((await call(apiServer))[0]).toBe(401);
});

it('a connection that was open when the CA changed is answered once more, and ends: a request on its way is not lost', async () => {
  const { url, ca, trust, log } = await startWithClientCa();
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: ca(), ...apiServer });
  onTestFinished(() => agent.destroy());
  const ask = async () => {
    const outgoing = request(`${url}/validate`, { method: 'POST', agent });
    outgoing.end();
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
    return [response.statusCode, response.headers.connection];
  };
  expect(await ask()).toEqual([400, 'keep-alive']);
  trust(others);
  await eventually(() => expect(log.text()).toContain('may call from now on'));

  expect(await ask()).toEqual([400, 'close']);
  expect(await ask()).toEqual([401, 'close']);
});

it('a session is not taken up again: it would outlive the CA', async () => {
  const app = await startWithClientCa();
  const sessions: Buffer[] = [];
  const connection = async (options: object) => {
    const socket = connect({ host: '127.0.0.1', port: app.port, ca: app.ca(), ...options });
    onTestFinished(() => void socket.destroy());
    socket.on('session', (session) => sessions.push(session));
    await once(socket, 'secureConnect');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(socket, 'data');
    return socket;
  };
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const first = await connection({ ...apiServer, maxVersion });
    const session = sessions.at(-1) ?? first.getSession();
    expect((await connection({ ...apiServer, maxVersion, session })).isSessionReused()).toBe(false);
  }
});

it.each([
  { why: 'nothing', text: '' },
  { why: 'a certificate that is no CA', text: apiServer.cert },
  { why: 'a certificate that is none', text: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n' },
])('it does not start with a file that has $why', async ({ text }) => {
  const caFile = join(temporaryDirectory(), 'client-ca.crt');
  writeFileSync(caFile, text);

  await expect(start({ clientCa: caFile })).rejects.toThrow(`--client-ca ${caFile}: expected CA certificates in PEM`);
});
