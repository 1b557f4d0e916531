import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { onTestFinished } from 'vitest';
import { CA_CERT } from './running-server.ts';

/**
 * A connection without anything sent, not even a handshake. It goes with the running test.
 * @param from an address of this machine
 */
export async function openRaw(port: number, from?: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, ...(from === undefined ? {} : { localAddress: from }) });
  destroyAfterTest(socket);
  await once(socket, 'connect');
  return socket;
}

/** A TLS connection without a request. It goes with the running test. */
export async function openTls(port: number, ca = CA_CERT): Promise<TLSSocket> {
  const socket = connectTls({ host: '127.0.0.1', port, ca, servername: 'localhost' });
  destroyAfterTest(socket);
  await once(socket, 'secureConnect');
  return socket;
}

/** Everything that the other end sends until it ends the connection, however it does. */
export async function readToEnd(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await closed(socket);
  return Buffer.concat(chunks).toString();
}

/** Ends when the connection has, by either end. */
export async function closed(socket: Socket): Promise<void> {
  if (socket.closed) return;
  socket.resume();
  await new Promise((resolve) => socket.once('close', resolve));
}

/** The first answer on a connection that stays open: its head, and as much of its body as came with it. */
export async function readAnswer(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    const [head = '', body] = text.split('\r\n\r\n');
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
    if (body !== undefined && body.length >= length) return text;
  }
  throw new Error(`the connection ended before an answer with a Content-Length was complete: ${text}`);
}

function destroyAfterTest(socket: Socket): void {
  // A connection that the server resets is not the client's error here.
  socket.on('error', () => {});
  onTestFinished(() => {
    socket.destroy();
  });
}
