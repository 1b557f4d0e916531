import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { onTestFinished } from 'vitest';

/** A pod, and the local port that stands for its port 8080. */
export type Pods = Readonly<Record<string, number>>;

export interface PortForwardingApi {
  readonly url: string;
  /** Paths of the port-forwards that were asked for. */
  readonly forwarded: string[];
  setLeader(pod: string): void;
}

const DATA = 0;
const ERROR = 1;

/** The end of a handshake is the hash of the key and this (RFC 6455, section 1.3). */
const HANDSHAKE = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/**
 * Stands for an API server and a kubelet behind it: EndpointSlices, the Lease, and port-forwards over `v4.channel.k8s.io` as
 * k8s.io/cri-streaming/pkg/streaming/portforward speaks it. The real ones are in test/e2e/dashboard.test.ts.
 */
export async function startPortForwardingApi(pods: Pods, leader: string): Promise<PortForwardingApi> {
  let holder = leader;
  const forwarded: string[] = [];
  const open = new Set<Duplex>();
  const server = createServer(({ url = '' }, response) => {
    const body = url.includes('/endpointslices?')
      ? { items: [sliceOf(Object.keys(pods))] }
      : { spec: { holderIdentity: `${holder}_uuid` } };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    open.add(socket);
    const { url = '' } = request;
    forwarded.push(url);
    const [, pod = '', port = ''] = /\/pods\/([^/]+)\/portforward\?ports=(\d+)$/.exec(url) ?? [];
    if (!(pod in pods)) return void socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
    accept(request, socket);
    const beginning = Buffer.alloc(2);
    beginning.writeUInt16LE(Number(port));
    for (const channel of [DATA, ERROR]) socket.write(frame(Buffer.concat([Buffer.of(channel), beginning])));
    forward(socket, connect({ host: '127.0.0.1', port: pods[pod] ?? 0 }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    forwarded,
    setLeader(pod) {
      holder = pod;
    },
  };
}

function sliceOf(pods: readonly string[]): object {
  return {
    endpoints: pods.map((name) => ({ conditions: { ready: true }, targetRef: { kind: 'Pod', name } })),
    ports: [
      { name: 'webhook', port: 8443 },
      { name: 'metrics', port: 8080 },
    ],
  };
}

function accept({ headers }: IncomingMessage, socket: Duplex): void {
  const proof = createHash('sha1').update(`${headers['sec-websocket-key']}${HANDSHAKE}`).digest('base64');
  const head = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];
  const fields = [`Sec-WebSocket-Accept: ${proof}`, 'Sec-WebSocket-Protocol: v4.channel.k8s.io', '', ''];
  socket.write([...head, ...fields].join('\r\n'));
}

/** Carries bytes between the first channel and the pod's port, until one of them ends. */
function forward(socket: Duplex, pod: Socket): void {
  let buffered = Buffer.alloc(0);
  socket.on('data', (bytes: Buffer) => {
    buffered = Buffer.concat([buffered, bytes]);
    for (let read = readFrame(buffered); read; read = readFrame(buffered)) {
      buffered = buffered.subarray(read.length);
      if (read.isClose) pod.destroy();
      else if (read.payload[0] === DATA) pod.write(read.payload.subarray(1));
    }
  });
  pod.on('data', (bytes: Buffer) => socket.write(frame(Buffer.concat([Buffer.of(DATA), bytes]))));
  pod.on('error', ({ message }) => socket.write(frame(Buffer.concat([Buffer.of(ERROR), Buffer.from(message)]))));
  pod.on('close', () => socket.end());
  socket.on('error', () => {}).on('close', () => pod.destroy());
}

const BINARY = 0x82;
const CLOSE = 0x8;

/** A message of a server in one frame (RFC 6455, section 5.2). */
function frame(payload: Buffer): Buffer {
  const { length } = payload;
  if (length < 126) return Buffer.concat([Buffer.of(BINARY, length), payload]);
  const size = Buffer.alloc(10);
  size[0] = BINARY;
  size[1] = 127;
  size.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([size, payload]);
}

/** The first frame of a client, which masks it; undefined while it is not complete. */
function readFrame(bytes: Buffer): { isClose: boolean; payload: Buffer; length: number } | undefined {
  const short = (bytes[1] ?? 0) & 0x7f;
  const sizeBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
  const start = 2 + sizeBytes + 4;
  if (bytes.length < start) return undefined;
  const size = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
  if (bytes.length < start + size) return undefined;
  const mask = bytes.subarray(start - 4, start);
  const payload = Buffer.from(bytes.subarray(start, start + size)).map((byte, index) => byte ^ (mask[index % 4] ?? 0));
  return { isClose: ((bytes[0] ?? 0) & 0xf) === CLOSE, payload: Buffer.from(payload), length: start + size };
}
