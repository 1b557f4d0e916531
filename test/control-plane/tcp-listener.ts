import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type Relay, relay } from './relay.ts';
import { resetSocket } from './reset-socket.ts';

/** A port whose connections are passed on to other ports. */
export interface TcpListener {
  readonly port: number;
  /** The connections that are open now. */
  relays(): readonly Relay[];
  /** Listens no more, and resets all connections. */
  close(): Promise<void>;
}

/**
 * Listens on a free port.
 *
 * @param dial connects to where a new client belongs; `undefined` when there is no such place: the client is reset
 * @param onRelay is told of each connection that was made
 * @param host the address to listen at
 */
export async function listenTcp(
  dial: () => Promise<Socket | undefined>,
  onRelay: (made: Relay) => void = () => {},
  host = '127.0.0.1',
): Promise<TcpListener> {
  const relays = new Set<Relay>();
  const clients = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, async (client) => {
    clients.add(client);
    client.once('close', () => clients.delete(client));
    client.on('error', () => {});
    const upstream = await dial();
    if (!upstream || client.destroyed) {
      resetSocket(client);
      if (upstream) resetSocket(upstream);
      return;
    }
    const made = relay(client, upstream, () => relays.delete(made));
    relays.add(made);
    onRelay(made);
  }).listen(0, host);
  await once(server, 'listening');

  return {
    port: (server.address() as AddressInfo).port,
    relays: () => [...relays],
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const made of relays) made.reset();
      for (const client of clients) resetSocket(client);
      await closed;
    },
  };
}

/** Connects to a port of 127.0.0.1; `undefined` when that is refused. */
export async function dialPort(port: number): Promise<Socket | undefined> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true });
  try {
    await once(socket, 'connect');
    // What is sent first must not get lost before somebody listens.
    return socket.pause();
  } catch {
    return undefined;
  }
}
