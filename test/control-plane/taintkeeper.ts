import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type LogLine, launchServe } from './serve-process.ts';
import { createWorkspace } from './workspace.ts';

export type { LogLine } from './serve-process.ts';

const START_TIMEOUT_MS = 15_000;

export interface TaintkeeperOptions {
  /** The policies, as YAML; absent means that none are given on the command line. */
  policies?: string;
}

/** A running `taintkeeper serve` that stands alone: policies and certificates are files. See replicas.ts for a cluster's. */
export interface Taintkeeper {
  readonly port: number;
  /** Where the webhook listens, as the API server reaches it. */
  readonly url: string;
  /** Where probes and metrics are served. */
  readonly adminUrl: string;
  /** PEM in base64, for a webhook configuration. */
  readonly caBundle: string;
  /** What it has logged until now. */
  logs(): LogLine[];
  /** The first line that is like this, waited for; throws after 10 s. */
  waitForLog(predicate: (line: LogLine) => boolean): Promise<LogLine>;
  /** All metrics, in Prometheus' text format. */
  metrics(): Promise<string>;
  /** SIGTERM, and the exit code; `null` when it had to be killed after 10 s. */
  stop(): Promise<number | null>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts taintkeeper as a process of its own, on free ports.
 *
 * @throws Error with the end of its log when it ends early or does not serve within 15 s
 */
export async function startTaintkeeper(options: TaintkeeperOptions = {}): Promise<Taintkeeper> {
  const workspace = createWorkspace('serve');
  const certDir = workspace.path('certs');
  const policies =
    options.policies === undefined ? [] : ['--policies', workspace.write('policies.yaml', options.policies)];
  const args = ['--port', '0', '--admin-port', '0', '--cert-dir', certDir, ...policies];
  const child = await launchServe('taintkeeper', args, { workspace });
  try {
    const { port, adminUrl } = await child.listening(START_TIMEOUT_MS);
    return {
      port,
      url: `https://127.0.0.1:${port}`,
      adminUrl,
      caBundle: readFileSync(join(certDir, 'ca.crt')).toString('base64'),
      logs: child.logs,
      waitForLog: (predicate) => child.waitForLog(predicate),
      metrics: async () => (await fetch(`${adminUrl}/metrics`)).text(),
      stop: () => child.stop(),
      [Symbol.asyncDispose]: child[Symbol.asyncDispose],
    };
  } catch (error) {
    await child.stop();
    throw error;
  }
}
