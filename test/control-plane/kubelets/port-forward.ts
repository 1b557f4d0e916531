import type { IncomingMessage, Server } from 'node:http';
import { connect } from 'node:net';
import { type Duplex, Writable } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { FindTarget } from './forwards.ts';

const PROTOCOL = 'v4.channel.k8s.io';
/** The channels of one forwarded port. */
const DATA = 0;
const ERROR = 1;

const sockets = new WebSocketServer({ noServer: true, clientTracking: false, handleProtocols: () => PROTOCOL });

/**
 * Answers port-forwards as a kubelet does, `/portForward/NAMESPACE/POD?port=PORT`, over WebSockets alone: the API server passes
 * on those that a client opens with `v4.channel.k8s.io` as they are. kubectl's come as SPDY, and are refused with 400.
 */
export function answerPortForwards(server: Server, targetOf: FindTarget): void {
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const path = /^\/portForward\/([^/]+)\/([^/]+)\?port=(\d+)$/.exec(request.url ?? '') ?? [];
    const [, namespace = '', pod = '', port = ''] = path;
    const target = targetOf({ namespace, pod, port: Number(port) });
    if (target === undefined) refuse(socket, '404 Not Found');
    else acceptForward({ request, socket, head }, Number(port), target);
  });
}

/** Answers one port-forward, that a server was asked for by an upgrade: the port of a pod is the local port `target`. */
export function acceptForward(
  { request, socket, head }: { request: IncomingMessage; socket: Duplex; head: Buffer },
  port: number,
  target: number,
): void {
  const offered = request.headers['sec-websocket-protocol']?.split(/\s*,\s*/) ?? [];
  if (offered.includes(PROTOCOL)) sockets.handleUpgrade(request, socket, head, (client) => carry(client, port, target));
  else refuse(socket, '400 Bad Request');
}

function refuse(socket: Duplex, status: string): void {
  socket.on('error', () => {});
  socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
}

/**
 * Carries bytes between the first channel and a local port, until one of them ends. The first byte of each message names its
 * channel, and the first message of each channel is the pod's port (k8s.io/cri-streaming/pkg/streaming/portforward).
 */
function carry(client: WebSocket, port: number, target: number): void {
  const send = (channel: number, bytes: Buffer, done: (error?: Error | null) => void = () => {}) =>
    client.send(Buffer.concat([Buffer.of(channel), bytes]), done);
  const beginning = Buffer.alloc(2);
  beginning.writeUInt16LE(port);
  for (const channel of [DATA, ERROR]) send(channel, beginning);

  const pod = connect({ host: '127.0.0.1', port: target, noDelay: true });
  const toClient = new Writable({
    write: (bytes: Buffer, _encoding, done) => send(DATA, bytes, done),
    // Not as soon as the port closes: there may be bytes that wait for others to be sent.
    final: (done) => {
      client.close();
      done();
    },
  });
  pod.pipe(toClient.on('error', () => {}));
  pod.on('drain', () => client.resume());
  pod.on('error', ({ message }) => {
    send(ERROR, Buffer.from(message));
    client.close();
  });
  client.on('message', (message: Buffer) => {
    if (message[0] === DATA && !pod.write(message.subarray(1))) client.pause();
  });
  client.on('error', () => {});
  client.on('close', () => pod.destroy());
}
