import { createServer } from 'node:net';

/** Ports of 127.0.0.1 that nobody listens on now. All are held at once, so that they differ. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject));
      return server;
    }),
  );
  return Promise.all(
    servers.map(async (server) => {
      const address = server.address();
      await new Promise((resolve) => server.close(resolve));
      if (address === null || typeof address === 'string') throw new Error('a TCP server has no port');
      return address.port;
    }),
  );
}
