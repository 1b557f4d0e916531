import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';

const MODULE = new URL('../../control-plane/reset-socket.ts', import.meta.url);

/** A program that closes a connection in this way, and has nothing else to do. */
const programOf = (close: string) => `
import { connect, createServer } from 'node:net';
import { resetSocket } from ${JSON.stringify(MODULE.href)};
const server = createServer((socket) => socket.on('error', () => {}).resume()).listen(0, '127.0.0.1', () => {
  const socket = connect(server.address().port, '127.0.0.1', () => {
    ${close}
    server.close();
  });
  socket.on('error', () => {});
});
`;

it.each([
  { why: 'that is open', close: 'resetSocket(socket);' },
  { why: 'that is being ended', close: 'socket.end(); resetSocket(socket);' },
])('a process ends after the reset of a connection $why', ({ close }) => {
  const { status, signal, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', programOf(close)], {
    timeout: 20_000,
    encoding: 'utf8',
  });
  expect({ status, signal, stderr }).toEqual({ status: 0, signal: null, stderr: '' });
});
