import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { throttle } from '../../../src/runtime/throttle.ts';
import { followConnections } from '../../../src/server/connections.ts';
import { eventually } from '../eventually.ts';
import { openRaw, readAnswer } from './raw-connections.ts';

async function serve(max: number) {
  const server = createServer((_request, response) => response.end('ok'));
  const onClosed = vi.fn();
  const { destroyAll } = followConnections(server, { max, onClosed });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  onTestFinished(destroyAll);
  const { port } = server.address() as AddressInfo;
  return { server, onClosed, destroyAll, open: (from?: string) => openRaw(port, from) };
}

async function ask(socket: Socket): Promise<void> {
  const answer = readAnswer(socket);
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await answer;
}

const areClosed = (sockets: readonly Socket[]) => sockets.map(({ closed }) => closed);

it('of those without a request, the oldest is closed; those with a request stay', async () => {
  const { open, onClosed } = await serve(2);
  const asking = await open();
  await ask(asking);
  const silent = [await open(), await open(), await open(), await open()];
  for (const socket of [asking, ...silent]) socket.resume();

  await eventually(() => expect(areClosed(silent)).toEqual([true, true, false, false]));
  expect(onClosed).toHaveBeenCalledTimes(2);
  await ask(asking);
});

it('of those with a request, the one whose last request is the oldest is closed', async () => {
  const { open } = await serve(2);
  const first = await open();
  await ask(first);
  const second = await open();
  await ask(second);
  await ask(first);
  const third = await open();
  await ask(third);
  second.resume();

  await eventually(() => expect(areClosed([first, second, third])).toEqual([false, true, false]));
  await ask(first);
});

it('of those with a request, one of the address with the most connections is closed', async () => {
  const { open, onClosed } = await serve(4);
  const quiet = await open();
  await ask(quiet);
  const noisy: Socket[] = [];
  for (let n = 0; n < 10; n++) {
    const socket = await open('127.0.0.2');
    await ask(socket);
    noisy.push(socket);
    for (const one of [quiet, ...noisy]) one.resume();
  }

  await eventually(() => expect(areClosed(noisy)).toEqual([...Array(7).fill(true), false, false, false]));
  expect(onClosed).toHaveBeenCalledTimes(7);
  await ask(quiet);
});

it('one that was closed counts no more', async () => {
  const { server, open, onClosed } = await serve(1);
  const count = () =>
    new Promise<number>((resolve) => server.getConnections((_error, connections) => resolve(connections)));
  for (let n = 0; n < 3; n++) {
    const socket = await open();
    await eventually(async () => expect(await count()).toBe(1));
    socket.destroy();
    await eventually(async () => expect(await count()).toBe(0));
  }
  expect(onClosed).not.toHaveBeenCalled();
});

it('ends them all', async () => {
  const { open, destroyAll } = await serve(2);
  const [asking, silent] = [await open(), await open()];
  await ask(asking);
  destroyAll();
  for (const socket of [asking, silent]) socket.resume();

  await eventually(() => expect(areClosed([asking, silent])).toEqual([true, true]));
});

it('what happens often is told at once, and then now and then, with how often it did', () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(0);
  onTestFinished(() => now.mockRestore());
  const say = vi.fn();
  const tell = throttle(say);
  for (const at of [0, 1, 9_999, 10_000, 10_001]) {
    now.mockReturnValue(at);
    tell();
  }
  expect(say.mock.calls).toEqual([[1], [3]]);
});
