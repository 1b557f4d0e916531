import { join } from 'node:path';
import { type Assets, binaryPath } from './assets.ts';
import type { Component, Plan } from './components.ts';
import { freePorts } from './free-ports.ts';
import { launch, type Supervised } from './process.ts';
import type { RestClient } from './rest.ts';
import { waitUntil } from './wait-until.ts';
import type { Workspace } from './workspace.ts';

const READY_TIMEOUT_MS = 60_000;
const BIND_ATTEMPTS = 5;
/** A tenth of the CPU time of a control plane's few seconds, for some 100 MB more of memory. */
const FEWER_COLLECTIONS = { GOGC: '400' };

/** A component that has said it is well, and where it listens. */
export interface RunningComponent {
  readonly url: string;
  /** The one of now: a component that is started again is another process at the same place. */
  readonly process: Supervised;
  /**
   * Starts it again as it was, with its ports and files, and waits until it is well.
   *
   * @throws Error when it still runs, ends early, or is not well within 60 s
   */
  restart(): Promise<void>;
}

/** What all components of a control plane have in common. */
export interface Site {
  assets: Assets;
  workspace: Workspace;
  /** Makes a client for an address, with an identity that every health endpoint accepts. */
  connect(url: string): RestClient;
}

/**
 * Starts a component and waits until its health endpoint says 200. When another process takes one of its ports
 * between our choosing and its binding, new ones are chosen.
 *
 * @throws Error with the component's name and the end of its log when it ends early or is not well within 60 s
 */
export async function startComponent(component: Component, plan: Plan, site: Site): Promise<RunningComponent> {
  for (let attempt = 1; ; attempt++) {
    const ports = await freePorts(plan.ports);
    const logFile = site.workspace.logFile(attempt === 1 ? component : `${component}.${attempt}`);
    const start = () => startOnPorts(component, plan, site, ports, logFile);
    const first = await start();
    if (first.outcome === 'well') return restartable(component, `https://127.0.0.1:${ports[0]}`, first.process, start);
    if (attempt === BIND_ATTEMPTS || !first.log.includes('address already in use')) throw first.error;
  }
}

type Start = { outcome: 'well'; process: Supervised } | { outcome: 'failed'; error: unknown; log: string };

/** Started again with the same file, a component goes on with its log. */
async function startOnPorts(
  component: Component,
  plan: Plan,
  site: Site,
  ports: readonly number[],
  logFile: string,
): Promise<Start> {
  const [command, ...first] = commandOf(component, site.assets);
  const env = { ...process.env, ...FEWER_COLLECTIONS };
  const child = await launch(component, command, [...first, ...plan.args(ports)], { logFile, env });
  const client = site.connect(`https://127.0.0.1:${ports[0]}`);
  try {
    await waitUntil(() => isHealthy(child, client, plan.healthPath), {
      timeoutMs: READY_TIMEOUT_MS,
      otherwise: () => child.failure(`was not ready within ${READY_TIMEOUT_MS / 1000} s`).message,
    });
    return { outcome: 'well', process: child };
  } catch (error) {
    await child.stop(0);
    return { outcome: 'failed', error, log: child.log() };
  } finally {
    client.close();
  }
}

/** The program of a component, with what comes before its arguments. */
function commandOf(component: Component, assets: Assets): readonly [string, ...string[]] {
  if (component === 'kubelets') return [process.execPath, join(import.meta.dirname, 'kubelets', 'run.ts')];
  return [binaryPath(assets, component)];
}

function restartable(
  component: Component,
  url: string,
  first: Supervised,
  start: () => Promise<Start>,
): RunningComponent {
  let process = first;
  return {
    url,
    get process() {
      return process;
    },
    restart: async () => {
      if (!process.exit) throw new Error(`${component} still runs`);
      const again = await start();
      if (again.outcome === 'failed') throw again.error;
      process = again.process;
    },
  };
}

async function isHealthy(process: Supervised, client: RestClient, path: string): Promise<true | undefined> {
  if (process.exit) throw process.failure(`ended early (${process.exit.code ?? process.exit.signal})`);
  const answer = await client.request('GET', path).catch(() => undefined);
  return answer?.status === 200 ? true : undefined;
}
