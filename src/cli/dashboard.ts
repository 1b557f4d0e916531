import { spawn } from 'node:child_process';
import { Command, InvalidArgumentError, Option } from 'commander';
import { openTunnel, webSocketHandler } from '../cluster/tunnel.ts';
import { startDashboard } from '../dashboard/dashboard-server.ts';
import { clusterReplicas, givenReplicas, type Replicas, replicaAt } from '../dashboard/reachable-replicas.ts';
import { InputError } from '../files/text-files.ts';
import { printable } from '../kubernetes/text.ts';
import { type FaultLog, followFault } from '../runtime/fault-log.ts';
import { CLUSTER_OPTIONS, type ClusterOptions, openCluster } from './cluster-options.ts';
import { rightsText } from './command-rights.ts';
import { EXIT, listenForStop, parsePort, refuseOptions } from './options.ts';
import { tell, withProgress } from './output.ts';

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

interface DashboardOptions extends Pick<ClusterOptions, 'kubeconfig' | 'context' | 'namespace' | 'service'> {
  readonly url: readonly URL[];
  readonly port: number;
  readonly open: boolean;
}

/** Options that are only for a cluster. */
const CLUSTER_ONLY = ['kubeconfig', 'context', 'namespace', 'service'];

/** `taintkeeper dashboard`: shows the page of the replicas in the user's browser, until SIGTERM or SIGINT. */
export function dashboardCommand(): Command {
  return new Command('dashboard')
    .description(
      "Show taintkeeper's page in your browser: a server on 127.0.0.1 that forwards to the replicas in the cluster, through port-forwards of its own. It shows the nodes that the leader knows, and the decisions of every replica.",
    )
    .addOption(CLUSTER_OPTIONS.kubeconfig())
    .addOption(CLUSTER_OPTIONS.context())
    .addOption(CLUSTER_OPTIONS.namespace())
    .addOption(CLUSTER_OPTIONS.service())
    .addOption(
      new Option('--url <url>', 'a plain listener of taintkeeper, in place of the pods of a cluster; may be repeated')
        .argParser(collectUrls)
        .default([], 'none'),
    )
    .option('--port <port>', 'port to listen on, on 127.0.0.1; 0 takes a free one', parsePort, 0)
    .option('--no-open', 'print the URL, and open no browser')
    .addHelpText(
      'after',
      `
${rightsText('dashboard')} Without
permission to get the Lease, it may show the page of a replica that does not lead.

Exit code: 0 after SIGTERM or SIGINT, 2 if it cannot start.

Example, for a taintkeeper that runs on this machine:
  taintkeeper dashboard --url http://localhost:8080`,
    )
    .action(async (options: DashboardOptions, command: Command) => {
      using stop = listenForStop();
      const { signal } = stop;
      const { find, close } = options.url.length > 0 ? findGiven(options, command) : await findInCluster(options);
      const starting = startDashboard({ port: options.port, find: explained(find), log: LOG });
      const started = Promise.race([starting, signal.then(() => undefined)]);
      const dashboard = await withProgress('looking for the replicas', started);
      if (dashboard === undefined) process.exit(EXIT.ok);
      process.stdout.write(`${dashboard.url}\n`);
      if (options.open) openBrowser(dashboard.url);
      await signal;
      await dashboard.stop();
      close();
      // An unanswered port-forward would keep the process alive.
      process.exit(EXIT.ok);
    });
}

type Find = () => Promise<Replicas>;

interface Finder {
  readonly find: Find;
  /** Closes the connections of `find`. */
  close(): void;
}

function findGiven({ url }: DashboardOptions, command: Command): Finder {
  refuseOptions(command, CLUSTER_ONLY, 'cannot be used with --url');
  return { find: givenReplicas(url.map(replicaAt)), close() {} };
}

async function findInCluster(options: DashboardOptions): Promise<Finder> {
  const { client, namespace } = await openCluster(options);
  const handler = await webSocketHandler(options);
  const dial = (pod: string, port: number) => openTunnel(handler, { namespace, pod, port });
  const { service } = options;
  const leaseFault = followFault(LOG, 'the leader is known again');
  return {
    find: () => clusterReplicas({ client, namespace, service, lease: service, dial, leaseFault }),
    close: () => client.close(),
  };
}

/** The first error is one of the input, which the user can correct. */
function explained(find: Find): Find {
  let first = true;
  return async () => {
    try {
      return await find();
    } catch (error) {
      throw first ? new InputError([printable((error as Error).message)]) : error;
    } finally {
      first = false;
    }
  };
}

/** Messages to the user on stderr. */
const LOG: FaultLog = {
  warn: (message) => tell(message),
  info: (message) => tell(message),
};

/** @throws InvalidArgumentError */
function collectUrls(text: string, before: readonly URL[]): URL[] {
  const url = URL.parse(text);
  if (url?.protocol === 'http:' && url.pathname === '/' && !url.search) return [...before, url];
  throw new InvalidArgumentError('Expected http://HOST:PORT: the plain listener, which has no TLS.');
}
