import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:tls';
import { expect, it, onTestFinished } from 'vitest';
import { secureContext } from '../../../src/server/tls.ts';
import { needsOpenssl } from '../certs/openssl.ts';
import { eventually } from '../eventually.ts';
import { harmlessReview } from '../reviews.ts';
import { openTls, readAnswer } from './raw-connections.ts';
import { ALIVE, CA_CERT, issueAnotherPair, SERVING_PAIR, startServer } from './running-server.ts';

const BODY = JSON.stringify(harmlessReview());
const REQUEST = `POST /validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;

async function handshakeFailures(server: Awaited<ReturnType<typeof startServer>>): Promise<number | undefined> {
  const metric = await server.metrics.registry.getSingleMetric('taintkeeper_tls_handshake_failures_total')?.get();
  return metric?.values[0]?.value;
}

/** The protocol agreed on with a client that offers just one, or why there was none. */
function handshake(port: number, version: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3'): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({
      host: '127.0.0.1',
      port,
      servername: 'localhost',
      ca: CA_CERT,
      minVersion: version,
      maxVersion: version,
      // OpenSSL's own security level would keep the client from offering TLS 1.0 and 1.1.
      ciphers: 'DEFAULT@SECLEVEL=0',
    });
    socket.on('secureConnect', () => {
      resolve(socket.getProtocol());
      socket.destroy();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

it.each([
  { version: 'TLSv1', outcome: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' },
  { version: 'TLSv1.1', outcome: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' },
  { version: 'TLSv1.2', outcome: 'TLSv1.2' },
  { version: 'TLSv1.3', outcome: 'TLSv1.3' },
] as const)(
  'a client that speaks only $version gets $outcome, also after a new certificate',
  async ({ version, outcome }) => {
    const server = await startServer();

    expect(await handshake(server.port, version)).toBe(outcome);
    server.app.server.setSecureContext(secureContext(await issueAnotherPair()));
    expect(await handshake(server.port, version)).toBe(outcome);
    expect(await server.aliveAnswer()).toEqual(ALIVE);
  },
);

it('a handshake is not begun again on a connection, also after a new certificate', async () => {
  const server = await startServer();
  server.app.server.setSecureContext(secureContext(await issueAnotherPair()));
  const client = connect({
    host: '127.0.0.1',
    port: server.port,
    ca: CA_CERT,
    servername: 'localhost',
    maxVersion: 'TLSv1.2',
  });
  onTestFinished(() => void client.destroy());
  await once(client, 'secureConnect');
  const refused = once(client, 'error');
  client.renegotiate({}, () => {});

  expect((await refused)[0]).toMatchObject({ message: expect.stringContaining('no renegotiation') });
  expect(await server.aliveAnswer()).toEqual(ALIVE);
});

it('plain HTTP on the TLS port is cut off and counted, and the server goes on', async () => {
  const server = await startServer({ level: 'debug' });
  const plain = request({ host: '127.0.0.1', port: server.port, path: '/validate', method: 'POST' });
  plain.end(BODY);

  const [error] = await once(plain, 'error').catch((reason) => [reason]);
  expect(error.code).toMatch(/ECONNRESET|HPE_INVALID_CONSTANT/);
  await eventually(async () => expect(await handshakeFailures(server)).toBe(1));
  expect(server.log.lines().map(({ msg }) => msg)).toEqual(['TLS handshake failed']);
  expect(await server.aliveAnswer()).toEqual(ALIVE);
});

it('a client that refuses the certificate is counted, and the server goes on', needsOpenssl, async () => {
  const server = await startServer();
  // Node.js as a client ends the handshake first and judges then; others, Go among them, break it off.
  const client = spawn('openssl', ['s_client', '-connect', `127.0.0.1:${server.port}`, '-verify_return_error']);
  onTestFinished(() => void client.kill('SIGKILL'));
  client.stdin.end();
  client.stdout.resume();
  client.stderr.resume();
  await once(client, 'close');

  await eventually(async () => expect(await handshakeFailures(server)).toBe(1));
  expect(await server.aliveAnswer()).toEqual(ALIVE);
});

it('a new certificate is shown to new connections, while an open one is served on', async () => {
  const server = await startServer();
  const before = await openTls(server.port);
  before.write(REQUEST);
  expect(await readAnswer(before)).toMatch(/^HTTP\/1\.1 200 /);

  const renewed = await issueAnotherPair();
  server.app.server.setSecureContext(secureContext(renewed));

  const after = await openTls(server.port);
  expect(pem(before)).toBe(withoutWhiteSpace(SERVING_PAIR.cert));
  expect(pem(after)).toBe(withoutWhiteSpace(renewed.cert));
  for (const connection of [before, after]) {
    connection.write(REQUEST);
    expect(await readAnswer(connection)).toMatch(/^HTTP\/1\.1 200 /);
  }
});

function pem(socket: Awaited<ReturnType<typeof openTls>>): string {
  return withoutWhiteSpace(String(socket.getPeerX509Certificate()));
}

function withoutWhiteSpace(text: string): string {
  return text.replaceAll(/\s/g, '');
}
