import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type Duplex, pipeline } from 'node:stream';

/** A port of this machine that leads to another place. */
export interface ForwardedPort {
  readonly port: number;
  /** Ends the connections that are open. New ones are accepted. */
  disconnect(): void;
  /** Ends all of it. */
  stop(): void;
}

export interface ForwardedPortOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Opens a connection to the other place. */
  readonly dial: () => Promise<Duplex>;
  /** Called when a connection could not be opened, or ended with an error. */
  readonly onError: (error: Error) => void;
}

/**
 * Listens on a port, and forwards the bytes of each connection both ways. A client that ends its half ends the connection.
 * @throws Error if it cannot listen
 */
export async function forwardPort({ host, port, dial, onError }: ForwardedPortOptions): Promise<ForwardedPort> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    // The client has closed the connection.
    socket.on('error', () => {});
    dial()
      .then((connection) => {
        // `pipeline` would throw.
        if (connection.destroyed) throw connection.errored ?? new Error('the connection has ended');
        socket.once('close', () => connection.destroy());
        pipeline(socket, connection, socket, (error) => {
          // One end may close before the other one.
          if (error && error.code !== 'ERR_STREAM_PREMATURE_CLOSE') onError(error);
        });
      })
      .catch((error: Error) => {
        onError(error);
        socket.destroy();
      });
  });
  const listening = once(server, 'listening');
  server.listen({ host, port });
  try {
    await listening;
  } catch (error) {
    throw new Error(`cannot listen on ${host} port ${port}: ${(error as Error).message}`);
  }
  const disconnect = () => {
    for (const socket of open) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    disconnect,
    stop() {
      server.close();
      disconnect();
    },
  };
}
