import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { generate } from 'selfsigned';
import { onTestFinished } from 'vitest';
import { temporaryDirectory } from '../temporary-directory.ts';

export interface Pair {
  readonly cert: string;
  readonly key: string;
}

const DAY_MS = 86_400_000;

/** When something is valid, in days from now. */
interface Life {
  readonly from?: number;
  readonly to?: number;
}

const validity = ({ from = -1, to = 365 }: Life) => ({
  notBeforeDate: new Date(Date.now() + from * DAY_MS),
  notAfterDate: new Date(Date.now() + to * DAY_MS),
});
const ALGORITHM = { keyType: 'ec', curve: 'P-256', algorithm: 'sha256' } as const;

/** A CA of Talos' API: its organization is `talos`. */
export async function talosCa(): Promise<Pair> {
  const subject = [
    { name: 'organizationName', value: 'talos' },
    { name: 'commonName', value: randomBytes(4).toString('hex') },
  ];
  const { cert, private: key } = await generate(subject, {
    ...validity({ from: -400, to: 3650 }),
    ...ALGORITHM,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
    ],
  });
  return { cert, key };
}

async function issue(ca: Pair, name: string, value: string, life: Life, extensions: object[]): Promise<Pair> {
  const { cert, private: key } = await generate([{ name, value }], {
    ...validity(life),
    ...ALGORITHM,
    ca,
    extensions: [{ name: 'keyUsage', digitalSignature: true, critical: true }, ...extensions] as never,
  });
  return { cert, key };
}

/** What a talosconfig has: the role is the organization. */
export function clientPair(ca: Pair, life: Life = {}): Promise<Pair> {
  return issue(ca, 'organizationName', 'os:admin', life, [{ name: 'extKeyUsage', clientAuth: true }]);
}

/** What apid presents, for a day. */
export function servingPair(ca: Pair, life: Life = { from: -0.5, to: 0.5 }, ip = '127.0.0.1'): Promise<Pair> {
  return issue(ca, 'commonName', 'cp-1', life, [
    { name: 'extKeyUsage', serverAuth: true },
    { name: 'subjectAltName', altNames: [{ type: 7, ip }] },
  ]);
}

/** `127.0.0.1:PORT` of a server that ends with the running test. */
async function listen(server: Server): Promise<string> {
  const open = new Set<{ destroy(): unknown }>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** HTTP/2 that wants a client certificate, as apid does; without `clientCa`, as in maintenance mode, it wants none. */
export function startApid(pair: Pair, clientCa?: Pair): Promise<string> {
  const server = createSecureServer({
    ...pair,
    minVersion: 'TLSv1.3',
    ...(clientCa ? { ca: clientCa.cert, requestCert: true, rejectUnauthorized: true } : {}),
  });
  server.on('sessionError', () => {}).on('tlsClientError', () => {});
  return listen(server as unknown as Server);
}

/**
 * A TLS 1.3 server that wants a client certificate of the CA. Go and OpenSSL say by an alert why they refuse one, where Node.js
 * hangs up.
 * @param aheadDays how far its clock is ahead
 */
export async function startOpenssl(pair: Pair, clientCa: Pair, aheadDays = 0): Promise<string> {
  const directory = temporaryDirectory();
  const write = (name: string, text: string) => {
    writeFileSync(join(directory, name), text, { mode: 0o600 });
    return join(directory, name);
  };
  const files = [
    '-cert',
    write('crt', pair.cert),
    '-key',
    write('key', pair.key),
    '-CAfile',
    write('ca', clientCa.cert),
  ];
  const time = Math.floor((Date.now() + aheadDays * DAY_MS) / 1000);
  const child = spawn('openssl', [
    ...['s_server', '-accept', '127.0.0.1:0', '-tls1_3', '-alpn', 'h2', '-Verify', '1', '-verify_return_error'],
    ...['-attime', String(time), ...files],
  ]);
  onTestFinished(() => void child.kill('SIGKILL'));
  for await (const line of createInterface(child.stdout)) {
    const [, port] = /^ACCEPT .*:(\d+)$/.exec(line) ?? [];
    if (port !== undefined) return `127.0.0.1:${port}`;
  }
  throw new Error('openssl s_server has ended');
}

/** Takes connections and says nothing. */
export function startSilent(): Promise<string> {
  return listen(createServer(() => {}));
}

/** Speaks another protocol. */
export function startSsh(): Promise<string> {
  return listen(createServer((socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n')));
}

/** A port at which nobody listens. */
export async function closedPort(): Promise<string> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `127.0.0.1:${port}`;
}

const encoded = (text: string | undefined) => (text === undefined ? undefined : Buffer.from(text).toString('base64'));

export function talosconfig(endpoints: readonly string[], ca?: Pair, client?: Pair, rest: object = {}): string {
  const context = { endpoints, ca: encoded(ca?.cert), crt: encoded(client?.cert), key: encoded(client?.key), ...rest };
  return JSON.stringify({ context: 'home', contexts: { home: context } });
}
