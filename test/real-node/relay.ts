import { type AddressInfo, createConnection, createServer } from 'node:net';
import { join } from 'node:path';
import { launch, type Supervised } from '../control-plane/process.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import type { Namespaces } from './namespaces.ts';

const START_TIMEOUT_MS = 10_000;

/** A way from this machine's loopback to a place inside of the lab. */
export interface Relay {
  /** On 127.0.0.1. */
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * No packet gets in or out of the lab. A socket in the file system does: a process in the lab listens there and connects to `target`.
 *
 * @param socket path of the socket to make
 */
export async function startRelay(
  inside: Namespaces,
  target: { readonly host: string; readonly port: number },
  socket: string,
  logFile: string,
): Promise<Relay> {
  const script = join(import.meta.dirname, 'relay-inside.ts');
  const [program, ...args] = inside.entering([process.execPath, script, socket, target.host, `${target.port}`]);
  const relay = await launch('relay', program, args, { logFile });
  await waitUntil(() => isListening(relay), {
    timeoutMs: START_TIMEOUT_MS,
    otherwise: () => relay.failure('does not listen').message,
  });
  const server = createServer((near) => {
    const far = createConnection(socket);
    near.pipe(far).pipe(near);
    near.on('error', () => far.destroy());
    far.on('error', () => near.destroy());
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    stop: async () => {
      server.close();
      await relay.kill();
    },
  };
}

function isListening(relay: Supervised): true | undefined {
  if (relay.exit) throw relay.failure('ended early');
  return relay.log().includes('listening') ? true : undefined;
}
