import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { constants, createSecureServer, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { generate } from 'selfsigned';
import { onTestFinished, vi } from 'vitest';
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

/** The answer to the call of a method. */
export type Reply =
  | { readonly message: Buffer }
  /** The number of gRPC's status, and what it says. */
  | { readonly status: number; readonly says: string }
  /** Any answer, frames included. */
  | { readonly body: Buffer }
  /** An answer that breaks off: the stream is reset without an error, as apid does, or the connection ends. */
  | { readonly cut: 'at once' | 'within' | 'before the status' | 'connection' }
  /** The beginning of an answer, and then a byte now and then. */
  | 'endless'
  | 'silent'
  /** None. The time of the call has run out once the client has read so many other answers: see {@link outOfTime}. */
  | { readonly outOfTimeAfter: number };

/** The default of `--timeout`. */
const TIMEOUT_MS = 5_000;

/** The call's time has run out as soon as this reply is chosen, and that of all other calls: the clock has to stand still. */
export function outOfTime<T>(reply: T): T {
  setImmediate(() => vi.advanceTimersByTime(TIMEOUT_MS));
  return reply;
}

/** Answers a method, such as `Version` or `Get config/MachineConfigs.config.talos.dev/v1alpha1`. @param node the one it is to be passed on to */
export type Api = (method: string, node: string | undefined) => Reply;

export const UNIMPLEMENTED = { status: 12, says: 'unknown service' };

/** A node that tells its version, and nothing else. */
export const versionOnly =
  (tag = 'v1.13.2'): Api =>
  (method) =>
    method === 'Version' ? { message: versionResponse(tag) } : UNIMPLEMENTED;

/** A node that has a configuration, too. */
export const configured =
  (configuration: string, tag = 'v1.13.2'): Api =>
  (method, node) =>
    method === MACHINE_CONFIG ? { message: resource('config', configuration) } : versionOnly(tag)(method, node);

export const MACHINE_CONFIG = 'Get config/MachineConfigs.config.talos.dev/v1alpha1';
export const VERSION_RESOURCE = 'Get runtime/Versions.runtime.talos.dev/version';

/** A field of protobuf that has a length. */
function part(number: number, content: string | Buffer): Buffer {
  const bytes = Buffer.from(content as string);
  const length: number[] = [];
  for (let rest = bytes.length; ; rest = Math.floor(rest / 128)) {
    length.push((rest % 128) + (rest > 127 ? 128 : 0));
    if (rest < 128) break;
  }
  return Buffer.concat([Buffer.from([number * 8 + 2, ...length]), bytes]);
}

/** machine.VersionResponse. */
export function versionResponse(tag: string): Buffer {
  return part(1, part(2, part(1, tag)));
}

/** cosi.resource.GetResponse with a resource of one field, as both kinds that are read are. */
export function resource(namespace: string, content: string | Buffer): Buffer {
  return part(1, Buffer.concat([part(1, part(1, namespace)), part(2, part(1, part(1, content)))]));
}

/** A message of gRPC as it goes over the wire. */
export function framed(message: Buffer, length = message.length): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
}

function answer(stream: ServerHttp2Stream, reply: Exclude<Reply, { readonly outOfTimeAfter: number }>): void {
  if (reply === 'silent') return;
  const head = { ':status': 200, 'content-type': 'application/grpc' };
  if (typeof reply === 'object' && 'status' in reply) {
    stream.respond({ ...head, 'grpc-status': reply.status, 'grpc-message': reply.says }, { endStream: true });
    return;
  }
  if (typeof reply === 'object' && 'cut' in reply) {
    breakOff(stream, reply.cut, head);
    return;
  }
  stream.respond(head, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': 0 }));
  if (reply !== 'endless') {
    stream.end('body' in reply ? reply.body : framed(reply.message));
    return;
  }
  stream.write(framed(Buffer.alloc(0), 1_000_000));
  const dripping = setInterval(() => stream.write(Buffer.alloc(1)), 20);
  stream.on('close', () => clearInterval(dripping));
}

function breakOff(
  stream: ServerHttp2Stream,
  where: 'at once' | 'within' | 'before the status' | 'connection',
  head: OutgoingHttpHeaders,
) {
  switch (where) {
    case 'at once':
      stream.close(constants.NGHTTP2_NO_ERROR);
      return;
    case 'connection':
      stream.session?.destroy();
      return;
    default: {
      const message = versionResponse('v1.13.2');
      stream.respond(head, { waitForTrailers: true });
      const sent = where === 'within' ? framed(message).subarray(0, 8) : framed(message);
      stream.write(sent, () => setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR)));
    }
  }
}

/** The words of a message, in order: of machine.Nothing none, of cosi.resource.GetRequest all. */
function words(message: Buffer): string[] {
  const [, length] = message;
  if (length === undefined) return [];
  return [message.subarray(2, 2 + length).toString(), ...words(message.subarray(2 + length))];
}

/**
 * Talos' API: HTTP/2 that requires a client certificate; without `clientCa`, as in maintenance mode, it requires none.
 * @param api what it says
 */
export function startApid(pair: Pair, clientCa?: Pair, api: Api = versionOnly()): Promise<string> {
  const server = createSecureServer({
    ...pair,
    minVersion: 'TLSv1.3',
    ...(clientCa ? { ca: clientCa.cert, requestCert: true, rejectUnauthorized: true } : {}),
  });
  /** How many answers the client has read. */
  let read = 0;
  let outOfTimeAfter = Number.POSITIVE_INFINITY;
  const endTime = () => {
    if (read < outOfTimeAfter) return;
    outOfTimeAfter = Number.POSITIVE_INFINITY;
    outOfTime(undefined);
  };
  server.on('stream', (stream, headers) => {
    const { session } = stream;
    const [, , name = ''] = String(headers[':path']).split('/');
    const node = headers.node === undefined ? undefined : String(headers.node);
    let request = Buffer.alloc(0);
    stream.on('error', () => {});
    // As Go does, with the message, not with the end of the request.
    stream.on('data', (chunk: Buffer) => {
      request = Buffer.concat([request, chunk]);
      if (request.length < 5 || request.length < 5 + request.readUInt32BE(1)) return;
      const asked = words(request.subarray(5)).filter(Boolean).join('/');
      const reply = api([name, asked].filter(Boolean).join(' '), node);
      if (typeof reply === 'object' && 'outOfTimeAfter' in reply) {
        ({ outOfTimeAfter } = reply);
        endTime();
        return;
      }
      // The client answers a ping after it has read what was sent before.
      stream.on('close', () => {
        if (session && !session.destroyed)
          session.ping(() => {
            read++;
            endTime();
          });
      });
      answer(stream, reply);
    });
  });
  server.on('sessionError', () => {}).on('tlsClientError', () => {});
  return listen(server as unknown as Server);
}

/**
 * A TLS 1.3 server that requires a client certificate of the CA. Go and OpenSSL say by an alert why they refuse one, where Node.js
 * hangs up. A client that it accepts gets some data, and no answer.
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
  // The first client whose certificate it accepts gets this.
  child.stdin.write('no HTTP\n');
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
