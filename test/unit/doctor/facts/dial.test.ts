import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { issueCa, issueServing } from '../../../../src/certs/issue.ts';
import { openTunnel } from '../../../../src/cluster/port-forward/tunnel.ts';
import { dial } from '../../../../src/doctor/facts/dial.ts';
import { stopClock, whenTrue } from '../../stopped-clock.ts';
import { startEchoingWebhook } from '../../webhooks/echoing-webhook.ts';

const SERVER_NAME = 'taintkeeper.taintkeeper.svc';
const ca = await issueCa(new Date());
const serving = await issueServing(ca, [SERVER_NAME], new Date());

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const LIMITS = { connectMs: 2_000, answerMs: 8_000 };
const at = (port: number, limits = {}) => dial({ host: '127.0.0.1', port }, SERVER_NAME, { ...LIMITS, ...limits });

describe('a client that dials a replica', () => {
  it('sees the certificate of any issuer, the answer, and the clock', async () => {
    const hourAhead = new Date(Date.now() + 3_600_000);
    const dialled = await at(await startEchoingWebhook(serving, { date: hourAhead }));
    if (dialled.outcome !== 'greeted') throw new Error(dialled.fault.message);
    const { chain, refusal, clockAheadMs = 0 } = dialled.greeting;
    expect(chain[0]?.toString().trim()).toBe(serving.cert.trim());
    expect(refusal).toBeUndefined();
    expect(Math.abs(clockAheadMs - 3_600_000)).toBeLessThan(60_000);
  });

  it('learns that the answer was none', async () => {
    expect(await at(await startEchoingWebhook(serving, { status: 503 }))).toMatchObject({
      greeting: { refusal: 'it answered 503' },
    });
  });

  it('gives a busy replica more time for its answer than the network for the connection', async () => {
    const port = await startEchoingWebhook(serving);
    const connectMs = 500;
    let asking: Socket | undefined;
    const slow = await listen(
      createServer((socket) => {
        socket
          .on('error', () => {})
          .once('readable', () => {
            asking = socket;
          });
      }),
    );
    stopClock();
    const dialled = at(slow, { connectMs });
    await whenTrue(() => asking !== undefined);
    vi.advanceTimersByTime(2 * connectMs);
    const upstream = connect(port, '127.0.0.1', () => asking?.pipe(upstream).pipe(asking));
    expect(await dialled).toMatchObject({ outcome: 'greeted', greeting: { refusal: undefined } });
  });

  it('tells apart a port without a listener, a silent one, and one that closes the connection', async () => {
    const port = await listen(createServer());
    const closed = createServer();
    const free = await listen(closed);
    closed.close();
    const other = await listen(createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')));
    const hangsUp = await listen(createServer((socket) => socket.destroy()));
    expect(await at(free)).toMatchObject({ fault: { kind: 'refused' } });
    expect(await at(port, { answerMs: 200 })).toEqual({
      outcome: 'failed',
      fault: { kind: 'silent', message: 'timed out: no TLS handshake within 200 ms' },
    });
    expect(await at(other)).toMatchObject({ outcome: 'failed', fault: { kind: 'closed' } });
    expect(await at(hangsUp)).toMatchObject({ outcome: 'failed', fault: { kind: 'closed' } });
  });
});

describe('a port-forward', () => {
  /** The kubelet's end: each channel begins with the port's number; then `data` goes to and fro on channel 0. */
  async function kubelet(
    onOpen: (send: (channel: number, data: Buffer) => void, url: string) => (data: Buffer) => void,
  ) {
    // Comes with the official client, and without types.
    const { WebSocketServer } = await import('ws' as string);
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0, handleProtocols: () => 'v4.channel.k8s.io' });
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    server.on('connection', (socket: WebSocketLike, request: IncomingMessage) => {
      const send = (channel: number, data: Buffer) => socket.send(Buffer.concat([Buffer.from([channel]), data]));
      const receive = onOpen(send, request.url ?? '');
      for (const channel of [0, 1]) send(channel, Buffer.from([0x20, 0xfb]));
      socket.on('message', (message: Buffer) => receive(message.subarray(1)));
    });
    const { KubeConfig } = await import('@kubernetes/client-node/dist/config.js');
    const config = new KubeConfig();
    const { port } = server.address() as AddressInfo;
    config.loadFromClusterAndUser(
      { name: 'c', server: `http://127.0.0.1:${port}`, skipTLSVerify: true },
      { name: 'u' },
    );
    const { WebSocketHandler } = await import('@kubernetes/client-node/dist/web-socket-handler.js');
    return new WebSocketHandler(config);
  }

  it('is a line like any other', async () => {
    const port = await startEchoingWebhook(serving);
    let asked = '';
    const sockets = await kubelet((send, url) => {
      asked = url;
      const upstream = createUpstream(port, (data) => send(0, data));
      return (data) => void upstream.write(data);
    });
    const socket = await openTunnel(sockets, { namespace: 'taintkeeper', pod: 'taintkeeper-1', port: 8443 });
    expect(await dial({ socket }, SERVER_NAME, LIMITS)).toMatchObject({
      outcome: 'greeted',
      greeting: { refusal: undefined },
    });
    expect(asked).toBe('/api/v1/namespaces/taintkeeper/pods/taintkeeper-1/portforward?ports=8443');
  });

  it('says what the kubelet says', async () => {
    const refusal = Buffer.from('error forwarding port 8443 to pod: connection refused');
    // One that comes before the first byte is an error of openTunnel.
    const sockets = await kubelet((send) => () => send(1, refusal));
    const socket = await openTunnel(sockets, { namespace: 'taintkeeper', pod: 'taintkeeper-1', port: 8443 });
    expect(await dial({ socket }, SERVER_NAME, LIMITS)).toMatchObject({ fault: { kind: 'refused' } });
  });
});

interface WebSocketLike {
  send(data: Buffer): void;
  on(event: 'message', listener: (data: Buffer) => void): void;
}

function createUpstream(port: number, onData: (data: Buffer) => void) {
  const socket = connect({ host: '127.0.0.1', port });
  socket.on('data', onData).on('error', () => {});
  return socket;
}
