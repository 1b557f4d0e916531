import { setTimeout as delay } from 'node:timers/promises';
import { launch, type Supervised } from '../control-plane/process.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { childrenOf, type Namespaces } from './namespaces.ts';

/** As systemd's units for Kubernetes have it. */
const RESTART_MS = 1000;
const STOP_TIMEOUT_MS = 10_000;

/** A process on a node that is started again whenever it ends. */
export interface Service {
  log(): string;
  /** Sends a signal to the process. When it ends by that, it is started again. */
  signal(name: NodeJS.Signals): void;
  /** Sends SIGTERM and waits for the end. It stays ended until {@link start}. */
  stop(): Promise<void>;
  /** @throws Error when it runs */
  start(): void;
  /** Starts it no more: its namespaces are about to end, and it with them. */
  abandon(): void;
}

export interface ServiceOptions {
  readonly name: string;
  readonly command: readonly string[];
  readonly logFile: string;
  readonly env?: Readonly<Record<string, string>>;
}

export function startService(namespaces: Namespaces, { name, command, logFile, env }: ServiceOptions): Service {
  let process: Supervised | undefined;
  let supervision: { readonly stopping: AbortController; readonly ended: Promise<void> } | undefined;
  const start = () => {
    if (supervision) throw new Error(`${name} runs`);
    const stopping = new AbortController();
    supervision = { stopping, ended: keepRunning(stopping.signal) };
  };
  start();
  return {
    log: () => process?.log() ?? '',
    signal,
    stop: async () => {
      supervision?.stopping.abort();
      // A moment after its start, there may be nobody yet to take the signal.
      await waitUntil(() => (!process || process.exit || childrenOf(process.pid).length > 0 ? true : undefined), {
        timeoutMs: STOP_TIMEOUT_MS,
        otherwise: () => `${name} was started, but its process neither runs nor has ended`,
      });
      signal('SIGTERM');
      const impatience = setTimeout(() => signal('SIGKILL'), STOP_TIMEOUT_MS);
      await supervision?.ended;
      clearTimeout(impatience);
      supervision = undefined;
    },
    start,
    abandon: () => supervision?.stopping.abort(),
  };

  async function keepRunning(stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      const [program, ...args] = namespaces.entering(command);
      process = await launch(name, program, args, { logFile, env: { ...globalThis.process.env, ...env } });
      await process.ended;
      await delay(RESTART_MS, undefined, { signal: stopping }).catch(() => {});
    }
  }

  /** To the process itself, which `nsenter` has started, and with which it ends. */
  function signal(signalName: NodeJS.Signals): void {
    if (!process || process.exit) return;
    for (const pid of childrenOf(process.pid)) globalThis.process.kill(pid, signalName);
  }
}
