import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { findIn } from '../../control-plane/kubelets/forwards.ts';
import { answerPortForwards } from '../../control-plane/kubelets/port-forward.ts';
import { startEchoServer } from './echo-servers.ts';

const POD = { namespace: 'default', pod: 'w', port: 8080 };

/** Opens a port-forward of {@link POD}, which leads to the local port. */
async function open(target: number, path: string, ...protocols: string[]): Promise<WebSocket> {
  const server = createServer();
  answerPortForwards(server, findIn([{ ...POD, target }]));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, protocols);
  onTestFinished(() => {
    client.terminate();
    server.close();
  });
  return client;
}

const hex = (messages: readonly Buffer[]) => messages.map((message) => message.toString('hex'));

it('names the port on both channels first, then carries what the port says', async () => {
  const echo = await startEchoServer('w');
  onTestFinished(() => echo.stop());
  const client = await open(echo.port, '/portForward/default/w?port=8080', 'v5.channel.k8s.io', 'v4.channel.k8s.io');
  const messages: Buffer[] = [];
  const text = () => Buffer.concat(messages.slice(2).map((message) => message.subarray(1))).toString();
  client.on('message', (message: Buffer) => {
    messages.push(message);
    if (text() === 'w\n') client.send(Buffer.from('\0and back'));
    if (text() === 'w\nand back') for (const socket of echo.connections) socket.end();
  });
  await once(client, 'close');
  expect(client.protocol).toBe('v4.channel.k8s.io');
  expect(hex(messages.slice(0, 2))).toEqual(['00901f', '01901f']);
  expect(text()).toBe('w\nand back');
});

it.each([
  { path: '/portForward/default/w?port=8080', protocol: 'v5.channel.k8s.io', status: 400 },
  { path: '/portForward/default/w?port=8081', protocol: 'v4.channel.k8s.io', status: 404 },
  { path: '/portForward/other/w?port=8080', protocol: 'v4.channel.k8s.io', status: 404 },
  { path: '/exec/default/w/c', protocol: 'v4.channel.k8s.io', status: 404 },
])('answers $path over $protocol with $status', async ({ path, protocol, status }) => {
  const client = await open(1, path, protocol);
  const [error] = await once(client, 'error');
  expect((error as Error).message).toBe(`Unexpected server response: ${status}`);
});
