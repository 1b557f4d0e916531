import type { Server, Socket } from 'node:net';

/**
 * Follows a server's connections, so that a stop can be bounded. `server.close()` alone waits for every one of them,
 * also for a TLS connection that never sent a request. Call it before the server listens.
 */
export function followConnections(server: Server): { destroyAll(): void } {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  return {
    destroyAll() {
      for (const socket of open) socket.destroy();
    },
  };
}
