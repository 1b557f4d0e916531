import { spawn } from 'node:child_process';
import { Command } from 'commander';
import { findLeaderPod, type LeaderPod } from '../cluster/lease/leader-pod.ts';
import { forwardPort } from '../cluster/port-forward/forwarded-port.ts';
import { openTunnel, webSocketHandler } from '../cluster/port-forward/tunnel.ts';
import { InputError } from '../files/input-error.ts';
import { orAborted } from '../runtime/abort.ts';
import { type FaultLog, followFault, kindOfMessage } from '../runtime/fault-log.ts';
import { pause } from '../runtime/pause.ts';
import { DEFAULT_PORTS } from '../server/default-ports.ts';
import { printable } from '../text/printable.ts';
import { CLUSTER_OPTIONS, type ClusterOptions, openCluster } from './cluster-options.ts';
import { rightsText } from './command-rights.ts';
import { parsePort } from './options.ts';
import { tell, withProgress } from './output/stderr.ts';
import { EXIT, listenForStop } from './process.ts';

/** The program of each platform that opens a URL; `start` is one of cmd's own commands, whose first argument is a title. */
const OPENERS: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};
const OTHERS = ['xdg-open'] as const;

/** Opens the URL in the user's browser. A failure is ignored, because the URL is printed as well. */
function openBrowser(url: string): void {
  const [program, ...args] = OPENERS[process.platform] ?? OTHERS;
  const opener = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
  opener.once('error', () => {});
  opener.unref();
}

interface DashboardOptions extends ClusterOptions {
  readonly port: number;
  readonly open: boolean;
}

const LOOPBACK = '127.0.0.1';

/** The interval between two searches for the leader, in milliseconds. */
const SEARCH_MS = 2_000;

/** `taintkeeper dashboard`: forwards a local port to the leader's page, until SIGTERM or SIGINT. */
export function dashboardCommand(): Command {
  return new Command('dashboard')
    .description(
      "Show the leader's page in your browser. Forwards a port of 127.0.0.1 to the leader's pod, as kubectl port-forward does, and follows a change of leader.",
    )
    .addOption(CLUSTER_OPTIONS.kubeconfig())
    .addOption(CLUSTER_OPTIONS.context())
    .addOption(CLUSTER_OPTIONS.namespace())
    .option('--port <port>', 'port to listen on, on 127.0.0.1; 0 takes a free one', parsePort, 0)
    .option('--no-open', 'print the URL, and open no browser')
    .addHelpText(
      'after',
      `
${rightsText('dashboard')}

Exit code: 0 after SIGTERM or SIGINT, 2 if it cannot start.

The page of a taintkeeper that runs on this machine needs no command: open http://localhost:${DEFAULT_PORTS.admin}.`,
    )
    .action(async (options: DashboardOptions) => {
      using stop = listenForStop();
      const { signal } = stop;
      const started = Promise.race([startDashboard(options), signal.then(() => undefined)]);
      const dashboard = await withProgress('looking for the leader', started);
      if (dashboard !== undefined) {
        process.stdout.write(`${dashboard.url}\n`);
        if (options.open) openBrowser(dashboard.url);
        await signal;
        dashboard.stop();
      }
      // An unanswered port-forward would keep the process alive.
      process.exit(EXIT.ok);
    });
}

interface Dashboard {
  readonly url: string;
  stop(): void;
}

/**
 * Forwards a port to the leader, and to the next leader after it.
 * @throws InputError
 */
async function startDashboard(options: DashboardOptions): Promise<Dashboard> {
  const { client, namespace } = await openCluster(options);
  const handler = await webSocketHandler(options);
  const find = () => findLeaderPod(client, namespace);
  const dial = ({ pod, port }: LeaderPod) => openTunnel(handler, { namespace, pod, port });
  const stopping = new AbortController();
  const broken = followFault(LOG, 'the port is forwarded again');
  try {
    let leader = await find();
    // The user learns at once that a permission is missing, or that the kubelet cannot be reached.
    (await dial(leader)).destroy();
    const forwarded = await forwardPort({
      host: LOOPBACK,
      port: options.port,
      dial: async () => {
        const tunnel = await dial(leader);
        broken.ended();
        return tunnel;
      },
      onError: ({ message }) => broken.occurred(kindOfMessage(message), message),
    });
    void repeat(find, stopping.signal, (current) => {
      if (current.pod === leader.pod) return;
      leader = current;
      LOG.info(`the leader is now ${leader.pod}`);
      // The page connects again by itself.
      forwarded.disconnect();
    });
    return {
      url: `http://${LOOPBACK}:${forwarded.port}/`,
      stop() {
        stopping.abort();
        forwarded.stop();
      },
    };
  } catch (error) {
    throw new InputError([printable((error as Error).message)]);
  }
}

/** Finds the leader again and again. Never rejects. */
async function repeat(
  find: () => Promise<LeaderPod>,
  signal: AbortSignal,
  onFound: (leader: LeaderPod) => void,
): Promise<void> {
  const fault = followFault(LOG, 'the leader is known again');
  for (;;) {
    await pause(SEARCH_MS, signal);
    if (signal.aborted) return;
    try {
      onFound(await orAborted(find(), signal));
      fault.ended();
    } catch (error) {
      if (signal.aborted) return;
      const { message } = error as Error;
      fault.occurred(kindOfMessage(message), `cannot find the leader: ${message}`);
    }
  }
}

/** Messages to the user on stderr. */
const LOG: FaultLog = { warn: tell, info: tell };
