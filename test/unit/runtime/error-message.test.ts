import { createPrivateKey } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { connect } from 'node:tls';
import { expect, it, onTestFinished } from 'vitest';
import { messageOf } from '../../../src/runtime/error-message.ts';

async function errorOf(work: () => unknown): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    return error;
  }
  throw new Error('there was no error');
}

async function handshakeWithoutTls(): Promise<void> {
  const server = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const socket = connect({ port: (server.address() as AddressInfo).port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
}

it.each([
  { what: 'a handshake with a server without TLS', work: handshakeWithoutTls, says: 'wrong version number' },
  { what: 'no key', work: () => createPrivateKey('no key'), says: 'unsupported' },
])('of an error of OpenSSL, only the reason is said: $what', async ({ work, says }) => {
  const error = await errorOf(work);
  expect((error as Error).message).toMatch(/error:[0-9A-F]{8}:/);
  expect(messageOf(error)).toBe(says);
});

it.each([
  {
    text: '40CD:error:0A00045C:SSL routines:ssl3_read_bytes:tlsv13 alert certificate required:a.c:9:SSL alert number 116\n',
    says: 'alert certificate required',
  },
  {
    text: '40CD:error:0A000412:SSL routines:ssl3_read_bytes:ssl/tls alert bad certificate:a.c:9:SSL alert number 42\n',
    says: 'alert bad certificate',
  },
  {
    text: 'write EPROTO 40CD:error:0A000438:SSL routines:ssl3_read_bytes:tlsv1 alert internal error:a.c:9:SSL alert number 80\n',
    says: 'alert internal error',
  },
  { text: 'connect ECONNREFUSED 127.0.0.1:1', says: 'connect ECONNREFUSED 127.0.0.1:1' },
])('$says', ({ text, says }) => {
  expect(messageOf(new Error(text))).toBe(says);
});
