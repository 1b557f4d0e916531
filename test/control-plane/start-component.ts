import { createServer } from 'node:net';
import { type Assets, binaryPath } from './assets.ts';
import type { Component, Plan } from './components.ts';
import { launch, type Supervised } from './process.ts';
import type { RestClient } from './rest.ts';
import { waitUntil } from './wait-until.ts';
import type { Workspace } from './workspace.ts';

const READY_TIMEOUT_MS = 60_000;
const BIND_ATTEMPTS = 5;

/** A component that has said it is well, and where it listens. */
export interface RunningComponent {
  process: Supervised;
  url: string;
}

/**
 * Starts a component and waits until its health endpoint says 200. When another process takes one of its ports
 * between our choosing and its binding, new ones are chosen.
 *
 * @param connect makes a client for an address, with an identity that the health endpoint accepts
 * @throws Error with the component's name and the end of its log when it ends early or is not well within 60 s
 */
export async function startComponent(
  component: Component,
  plan: Plan,
  site: { assets: Assets; workspace: Workspace; connect: (url: string) => RestClient },
): Promise<RunningComponent> {
  for (let attempt = 1; ; attempt++) {
    const ports = await freePorts(plan.ports);
    const url = `https://127.0.0.1:${ports[0]}`;
    const process = await launch(component, binaryPath(site.assets, component), plan.args(ports), {
      logFile: site.workspace.logFile(attempt === 1 ? component : `${component}.${attempt}`),
    });
    const client = site.connect(url);
    try {
      await waitUntil(() => isHealthy(process, client, plan.healthPath), {
        timeoutMs: READY_TIMEOUT_MS,
        otherwise: () => process.failure(`was not ready within ${READY_TIMEOUT_MS / 1000} s`).message,
      });
      return { process, url };
    } catch (error) {
      await process.stop(0);
      if (attempt === BIND_ATTEMPTS || !process.log().includes('address already in use')) throw error;
    } finally {
      client.close();
    }
  }
}

async function isHealthy(process: Supervised, client: RestClient, path: string): Promise<true | undefined> {
  if (process.exit) throw process.failure(`ended early (${process.exit.code ?? process.exit.signal})`);
  const answer = await client.request('GET', path).catch(() => undefined);
  return answer?.status === 200 ? true : undefined;
}

/** Ports of 127.0.0.1 that nobody listens on now. All are held at once, so that they differ. */
async function freePorts(count: number): Promise<number[]> {
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
