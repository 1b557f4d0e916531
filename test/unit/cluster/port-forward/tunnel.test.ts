import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { WebSocketHandler } from '@kubernetes/client-node/dist/web-socket-handler.js';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openTunnel, webSocketHandler } from '../../../../src/cluster/port-forward/tunnel.ts';
import { temporaryDirectory } from '../../temporary-directory.ts';
import { kubeconfigText } from '../client/fake-api.ts';
import { type Pods, startPortForwardingApi } from './port-forwarding-api.ts';

/** What listens in the pod: one connection after the other. */
async function startPod(serve: (socket: Socket) => void) {
  const server = createServer(serve).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function handlerFor(pods: Pods) {
  const api = await startPortForwardingApi(pods, 'tk-a');
  const config = new KubeConfig();
  config.loadFromString(kubeconfigText(api.url));
  return { api, handler: new WebSocketHandler(config) };
}

const POD = { namespace: 'taintkeeper', pod: 'tk-a', port: 8080 };

it('carries bytes both ways, many of them, and ends when the pod does', async () => {
  const port = await startPod((socket) => {
    let heard = '';
    socket.on('data', (bytes) => {
      heard += bytes;
      if (heard.endsWith('.')) socket.end(heard + 'x'.repeat(300_000));
    });
  });
  const { api, handler } = await handlerFor({ 'tk-a': port });
  const tunnel = await openTunnel(handler, POD);
  tunnel.write(`hello ${'y'.repeat(70_000)}.`);
  const chunks: Buffer[] = [];
  for await (const chunk of tunnel) chunks.push(chunk);

  const text = Buffer.concat(chunks).toString();
  expect(text.length).toBe(6 + 70_000 + 1 + 300_000);
  expect(text).toMatch(/^hello y+\.x+$/);
  expect(api.forwarded).toEqual(['/api/v1/namespaces/taintkeeper/pods/tk-a/portforward?ports=8080']);
});

it("ends the pod's connection when it is destroyed", async () => {
  const { promise, resolve } = Promise.withResolvers<Socket>();
  const { handler } = await handlerFor({ 'tk-a': await startPod(resolve) });
  const tunnel = await openTunnel(handler, POD);
  tunnel.write('hello');
  const socket = await promise;
  const ended = once(
    socket.resume().on('error', () => {}),
    'close',
  );
  tunnel.destroy();
  await ended;
});

it('reports what the kubelet says of a port on which no process listens', async () => {
  const { handler } = await handlerFor({ 'tk-a': 1 });
  const tunnel = await openTunnel(handler, POD);
  tunnel.resume();
  const [error] = await once(tunnel, 'error');
  expect((error as Error).message).toMatch(/^port 8080 of pod tk-a: connect ECONNREFUSED/);
});

it('fails with what the kubelet says at once, and leaves no WebSocket', async () => {
  const close = vi.fn();
  const connect: WebSocketHandler['connect'] = async (_path, _onText, onBytes) => {
    for (const bytes of [Buffer.of(0x90, 0x1f), Buffer.from('refused')]) onBytes?.(1, bytes);
    return { close } as unknown as Awaited<ReturnType<WebSocketHandler['connect']>>;
  };
  await expect(openTunnel({ connect }, POD)).rejects.toThrow('port 8080 of pod tk-a: refused');
  expect(close).toHaveBeenCalled();
});

it('says which rights it takes when it is not allowed', async () => {
  const { handler } = await handlerFor({ 'tk-a': undefined });
  await expect(openTunnel(handler, POD)).rejects.toThrow(
    'cannot forward port 8080 of pod tk-a: Unexpected server response: 403; it needs permission to get and create pods/portforward',
  );
});

it('gives up a handshake that gets no answer, and closes its connection', async () => {
  const { promise, resolve } = Promise.withResolvers<Socket>();
  const port = await startPod((socket) => resolve(socket.resume()));
  const file = join(temporaryDirectory(), 'kubeconfig');
  writeFileSync(file, kubeconfigText(`http://127.0.0.1:${port}`));
  const handler = await webSocketHandler({ kubeconfig: file }, { openMs: 50 });
  const opening = openTunnel(handler, POD);
  const closed = once(await promise, 'close');
  await expect(opening).rejects.toThrow('cannot forward port 8080 of pod tk-a: Opening handshake has timed out');
  await closed;
});

it('closes its connection to one that does not answer the close', async () => {
  const connected = Promise.withResolvers<Socket>();
  const api = createHttpServer().listen(0, '127.0.0.1');
  onTestFinished(() => void api.close());
  api.on('upgrade', ({ headers }, socket: Socket) => {
    // RFC 6455, section 4.2.2.
    const key = `${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash('sha1').update(key).digest('base64');
    const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];
    socket.write(
      [...lines, 'Sec-WebSocket-Protocol: v4.channel.k8s.io', `Sec-WebSocket-Accept: ${accept}`, '', ''].join('\r\n'),
    );
    connected.resolve(socket.resume());
  });
  await once(api, 'listening');
  const file = join(temporaryDirectory(), 'kubeconfig');
  writeFileSync(file, kubeconfigText(`http://127.0.0.1:${(api.address() as AddressInfo).port}`));
  const tunnel = await openTunnel(await webSocketHandler({ kubeconfig: file }, { closeMs: 50 }), POD);
  const ended = once(await connected.promise, 'end');
  tunnel.destroy();
  await ended;
});
