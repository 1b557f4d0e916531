import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { launch } from './process.ts';
import { waitUntil } from './wait-until.ts';
import { createWorkspace } from './workspace.ts';

const START_TIMEOUT_MS = 15_000;
const STOP_GRACE_MS = 10_000;
const LOG_TIMEOUT_MS = 10_000;
const PROGRAM = join(import.meta.dirname, '..', '..', 'bin', 'taintkeeper.js');

/** One line of taintkeeper's log (pino). */
export type LogLine = { msg: string; [field: string]: unknown };

export interface TaintkeeperOptions {
  /** The policies, as YAML; absent means that none are given on the command line. */
  policies?: string;
  /** More arguments of `serve`; a repeated option wins over ours. */
  args?: readonly string[];
  /** Added to the environment, such as KUBECONFIG. */
  env?: Record<string, string>;
  /** A folder for the certificates, to keep them over a restart; by default a temporary one. */
  certDir?: string;
}

/** A running `taintkeeper serve`. */
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
  const certDir = options.certDir ?? workspace.path('certs');
  const policies =
    options.policies === undefined ? [] : ['--policies', workspace.write('policies.yaml', options.policies)];
  const args = ['serve', '--port', '0', '--admin-port', '0', '--cert-dir', certDir, ...policies];
  const child = await launch('taintkeeper', process.execPath, [PROGRAM, ...args, ...(options.args ?? [])], {
    logFile: workspace.logFile('taintkeeper'),
    env: { ...process.env, ...options.env },
  });

  const logs = () => parseLog(child.log());
  const waitForLog = (predicate: (line: LogLine) => boolean, timeoutMs = LOG_TIMEOUT_MS) =>
    waitUntil(
      () => {
        const line = logs().find(predicate);
        if (!line && child.exit) throw child.failure(`ended (${child.exit.code ?? child.exit.signal})`);
        return line;
      },
      {
        timeoutMs,
        otherwise: () => child.failure(`did not log what was waited for within ${timeoutMs / 1000} s`).message,
      },
    );
  const stop = async () => {
    const { code } = await child.stop(STOP_GRACE_MS);
    workspace.remove();
    return code;
  };

  try {
    const serving = await waitForLog(({ msg }) => msg === 'serving', START_TIMEOUT_MS);
    const port = Number(new URL(String(serving.url)).port);
    const adminUrl = String(serving.adminUrl);
    return {
      port,
      url: `https://127.0.0.1:${port}`,
      adminUrl,
      caBundle: readFileSync(join(certDir, 'ca.crt')).toString('base64'),
      logs,
      waitForLog: (predicate) => waitForLog(predicate),
      metrics: async () => (await fetch(`${adminUrl}/metrics`)).text(),
      stop,
      [Symbol.asyncDispose]: async () => {
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Lines that are not JSON come from Node.js itself, and a last line may still be on its way. */
function parseLog(log: string): LogLine[] {
  const whole = log.split('\n').slice(0, -1);
  return whole.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as LogLine);
}
