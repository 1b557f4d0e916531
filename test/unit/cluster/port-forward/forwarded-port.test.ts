import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { forwardPort } from '../../../../src/cluster/port-forward/forwarded-port.ts';
import { eventually } from '../../eventually.ts';

const HOST = '127.0.0.1';

async function serve(onConnection: (socket: Socket) => void): Promise<number> {
  const server = createServer(onConnection).listen(0, HOST);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function forwardTo(dial: () => Promise<Socket>) {
  const errors: string[] = [];
  const forwarded = await forwardPort({ host: HOST, port: 0, dial, onError: ({ message }) => errors.push(message) });
  onTestFinished(() => forwarded.stop());
  const client = () => {
    const socket = connect({ host: HOST, port: forwarded.port });
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  return { ...forwarded, errors, client };
}

it('carries the bytes of each connection both ways, and its end', async () => {
  const port = await serve((socket) => {
    let heard = '';
    socket.on('data', (bytes) => {
      heard += bytes;
      if (heard.endsWith('.')) socket.end(`${heard.length} ${'x'.repeat(300_000)}`);
    });
  });
  const { client, errors } = await forwardTo(async () => connect({ host: HOST, port }));
  const answers = await Promise.all(
    [1, 70_000].map((length) => {
      const socket = client();
      socket.write(`${'y'.repeat(length)}.`);
      return text(socket);
    }),
  );
  expect(answers.map((answer) => [answer.split(' ')[0], answer.length])).toEqual([
    ['2', 300_002],
    ['70001', 300_006],
  ]);
  expect(errors).toEqual([]);
});

it.each(['end', 'destroy'] as const)('ends the connection to the other place when the client calls %s', async (how) => {
  const { promise, resolve } = Promise.withResolvers<Socket>();
  const port = await serve((socket) => resolve(socket.resume()));
  // As a port-forward does, it ignores the end of one half.
  const { client, errors } = await forwardTo(async () => connect({ host: HOST, port, allowHalfOpen: true }));
  const socket = client();
  const closed = once(await promise, 'close');
  socket.resume()[how]();
  await closed;
  expect(errors).toEqual([]);
});

it('disconnects the open connections, and accepts new ones', async () => {
  let count = 0;
  const port = await serve((socket) => void socket.resume().write(`${count++}`));
  const { client, disconnect, errors } = await forwardTo(async () => connect({ host: HOST, port }));
  const first = client();
  expect(String((await once(first, 'data'))[0])).toBe('0');
  disconnect();
  await once(first, 'close');
  expect(String((await once(client(), 'data'))[0])).toBe('1');
  expect(errors).toEqual([]);
});

it.each([
  {
    why: 'has ended before it can be used',
    dial: async () =>
      connect({ host: HOST, port: 1 })
        .on('error', () => {})
        .destroy(new Error('refused')),
    says: 'refused',
  },
  { why: 'cannot be opened', dial: async () => Promise.reject(new Error('no route')), says: 'no route' },
  {
    why: 'breaks',
    dial: async () => {
      const socket = connect({ host: HOST, port: 1 });
      socket.on('error', () => {});
      return socket;
    },
    says: 'connect ECONNREFUSED 127.0.0.1:1',
  },
])('reports a connection that $why, and ends the one of the client', async ({ dial, says }) => {
  const { client, errors } = await forwardTo(dial);
  const socket = client();
  socket.on('error', () => {});
  await once(socket, 'close');
  await eventually(() => expect(errors).toEqual([says]));
});

it('says which port is in use', async () => {
  const port = await serve(() => {});
  const dial = async () => connect({ host: HOST, port });
  await expect(forwardPort({ host: HOST, port, dial, onError() {} })).rejects.toThrow(
    `cannot listen on 127.0.0.1 port ${port}: `,
  );
});
