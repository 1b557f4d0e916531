import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { type Installation, install, leaderOf } from './installation.ts';

const CALLED_MS = 60_000;
/** Shorter than the calls over the Service: each may take 3 s, and is tried ten times. */
const STOP_MS = 20_000;

/** Takes connections, and never says anything. */
async function startMuteServer() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on('error', () => {}))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    called: () => sockets.size,
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

describeWithControlPlane('the registration', {}, (cp) => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await install(cp());
  });
  afterAll(() => installation.stop());

  it('that waits for the Service does not delay the stop: the replica releases the Lease', async () => {
    using mute = await startMuteServer();
    const [replica] = await installation.start(['a'], { servicePort: mute.port, shutdownDelaySeconds: 1 });
    await waitUntil(() => (mute.called() > 0 ? true : undefined), {
      timeoutMs: CALLED_MS,
      otherwise: () => 'the Service was not called',
    });
    expect(await leaderOf(cp())).toBe('a');

    expect(await replica?.stop(STOP_MS)).toBe(0);
    expect(await leaderOf(cp())).toBe('');
  });
});
