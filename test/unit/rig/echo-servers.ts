import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { Backend } from '../../control-plane/service-proxy.ts';

/** A server on 127.0.0.1 that says its name to each client, and sends back what it receives. */
export interface EchoServer {
  readonly port: number;
  readonly connections: ReadonlySet<Socket>;
  stop(): Promise<void>;
}

export async function startEchoServer(name: string): Promise<EchoServer> {
  const connections = new Set<Socket>();
  const server = createServer((socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket)).on('error', () => {});
    socket.write(`${name}\n`);
    socket.pipe(socket);
  });
  return {
    port: await listen(server),
    connections,
    stop: async () => {
      for (const socket of connections) socket.destroy();
      await close(server);
    },
  };
}

/** An echo server with a `/readyz`, whose answer a test decides. */
export interface EchoBackend extends Backend, EchoServer {
  /** `silent`: the connection is taken and nothing is answered, as by a process that is paused. */
  readiness: 'ready' | 'unready' | 'silent';
}

export async function startEchoBackend(name: string): Promise<EchoBackend> {
  const echo = await startEchoServer(name);
  const admin = createHttpServer((_request, response) => {
    if (backend.readiness !== 'silent') response.writeHead(backend.readiness === 'ready' ? 200 : 503).end();
  });
  const backend: EchoBackend = {
    ...echo,
    name,
    adminUrl: `http://127.0.0.1:${await listen(admin)}`,
    readiness: 'ready',
    stop: async () => {
      admin.closeAllConnections();
      await Promise.all([echo.stop(), close(admin)]);
    },
  };
  return backend;
}

/** A client that remembers what it has received, and how its connection ended. */
export interface EchoClient {
  readonly socket: Socket;
  received(): string;
  fate(): 'open' | 'ended' | 'closed' | 'reset';
}

export function connectClient(port: number): EchoClient {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  let received = '';
  let fate: ReturnType<EchoClient['fate']> = 'open';
  socket
    .on('data', (chunk) => {
      received += chunk;
    })
    .on('end', () => {
      fate = 'ended';
    })
    .on('error', () => {})
    .on('close', (hadError) => {
      fate = hadError ? 'reset' : 'closed';
    });
  return { socket, received: () => received, fate: () => fate };
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function close(server: Server): Promise<void> {
  await new Promise((resolve) => server.close(resolve));
}
