import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { Logger } from 'pino';
import type { ClientFile } from '../certs/client-authority.ts';
import { DEFAULT_EVICTION_RATE } from '../evictions/eviction-pace.ts';
import { InputError } from '../files/text-files.ts';
import { type RunningApp, startApp } from '../replica/app.ts';
import { startClusterApp } from '../replica/cluster-app.ts';
import type { Listeners } from '../replica/servers.ts';
import { CLUSTER_OPTIONS, type ClusterOptions, openCluster, parseSeconds } from './cluster-options.ts';
import { createLogger } from './logger.ts';
import { EXIT, listenForStop, parseEvictionRate, parsePort, repeatable } from './options.ts';

interface ServeOptions extends Listeners, ClusterOptions {
  readonly policies?: readonly string[];
  readonly audit: boolean;
  readonly certDir?: string;
  readonly san: readonly string[];
  readonly clientCa?: string;
  readonly clientName?: string;
  readonly cluster: boolean;
  readonly servicePort: number;
  readonly lease: string;
  readonly identity: string;
  readonly defaultPolicies?: string;
  readonly ownerClusterRole?: string;
  readonly nodeEvictionRate: number;
  readonly writeReports: boolean;
  readonly shutdownDelay: number;
  readonly caOverlap: number;
  readonly page: boolean;
  readonly exposePage: boolean;
}

/** Options that mean nothing with `--cluster`, or nothing without it. */
const FILES_ONLY = ['policies', 'san'];
const CLUSTER_ONLY = [
  'kubeconfig',
  'context',
  'namespace',
  'service',
  'servicePort',
  'secret',
  'lease',
  'identity',
  'defaultPolicies',
  'ownerClusterRole',
  'nodeEvictionRate',
  'writeReports',
  'shutdownDelay',
  'caOverlap',
];

const DEFAULT_CERT_DIR = 'certs';

/** `taintkeeper serve`: runs the webhook until SIGTERM or SIGINT. */
export function serveCommand(): Command {
  return new Command('serve')
    .description(
      'Answer AdmissionReviews over HTTPS: POST /validate and POST /mutate. A second, plain listener has /livez, /readyz, /metrics, and, for those who come by loopback, a page to look at.',
    )
    .option(
      '--policies <path>',
      'policy file, or directory of them (without subdirectories); watched; may be repeated (default: the built-in policies)',
      repeatable,
    )
    .option('--audit', 'treat every policy as mode Audit: only report', false)
    .option('--port <port>', 'port of the HTTPS listener; 0 takes a free one', parsePort, 8443)
    .option('--host <address>', 'address of the HTTPS listener', '0.0.0.0')
    .option('--admin-port <port>', 'port of the plain listener; 0 takes a free one', parsePort, 8080)
    .option('--admin-host <address>', 'address of the plain listener', '127.0.0.1')
    .option('--no-page', 'no page on the plain listener: it shows policies, nodes, and who asked for what')
    .option(
      '--expose-page',
      'show the page to everybody who reaches the plain listener, without a login (default: only connections by loopback, such as port-forwards)',
      false,
    )
    .option(
      '--cert-dir <directory>',
      `where ca.crt, tls.crt and their keys are; what is missing or expires soon is issued, unless tls.crt and tls.key are there without ca.key (default: "${DEFAULT_CERT_DIR}"; with --cluster: the Secret)`,
    )
    .option(
      '--san <name>',
      'a further DNS name or IP address for the certificate, such as NAME.NAMESPACE.svc; may be repeated',
      collectNames,
      [],
    )
    .option(
      '--client-ca <file>',
      'only clients with a certificate of these CAs may call (the API server shows one only if it is told to); watched',
    )
    .option('--client-name <name>', 'with --client-ca: the only common name that may call')
    .optionsGroup('In a cluster:')
    .option('--cluster', 'take policies and certificates from the API server, and register the webhook with it', false)
    .addOption(CLUSTER_OPTIONS.kubeconfig())
    .addOption(CLUSTER_OPTIONS.context())
    .addOption(CLUSTER_OPTIONS.namespace())
    .addOption(CLUSTER_OPTIONS.service())
    .addOption(new Option('--service-port <port>', "the Service's port").argParser(parsePort).default(443))
    .addOption(CLUSTER_OPTIONS.secret())
    .option('--lease <name>', 'the Lease that says which replica leads', 'taintkeeper')
    .addOption(
      new Option('--identity <name>', 'this replica; no two that run have the same').default(
        hostname(),
        "the host's name",
      ),
    )
    .option('--default-policies <configmap>', 'a ConfigMap with default policies: each is created once')
    .option(
      '--owner-cluster-role <name>',
      'the ClusterRole that owns the webhook configurations and the bindings of native policies: they are deleted with it, and it is deleted with the namespace',
    )
    .option(
      '--node-eviction-rate <nodes>',
      'how many nodes a second get a taint that evicts pods, in each zone; 0: none',
      parseEvictionRate,
      DEFAULT_EVICTION_RATE,
    )
    .option(
      '--write-reports',
      'write a ClusterReport of OpenReports for each policy, for tools that show such reports',
      false,
    )
    .option(
      '--shutdown-delay <seconds>',
      'how long requests are still answered after SIGTERM, while the endpoints change',
      parseSeconds,
      10,
    )
    .option(
      '--ca-overlap <seconds>',
      `how long an earlier CA stays trusted after a rotation; with less than ${SAFE_CA_OVERLAP_SECONDS} (with --cert-dir: ${SAFE_FILES_OVERLAP_SECONDS}), a slow replica may for a while serve a certificate that is not trusted any more`,
      parseSeconds,
      3600,
    )
    .addHelpText(
      'after',
      `
Exit code: 0 after SIGTERM or SIGINT, 2 if it cannot start.
Environment: LOG_LEVEL (trace to fatal, silent; default info), NO_COLOR.

Example, for a webhook at webhook.example.com with policies from files:
  taintkeeper serve --policies policies/ --san webhook.example.com`,
    )
    .action(async (options: ServeOptions, command: Command) => {
      refuseIdle(options.cluster ? FILES_ONLY : CLUSTER_ONLY, options.cluster, command);
      const log = await createLogger();
      // As the first process of a container it would not be ended by a signal that it does not listen to.
      using stop = listenForStop();
      const { signal } = stop;
      const starting = options.cluster ? startInCluster(options, log) : startFromFiles(options, log);
      const app = await Promise.race([starting, signal.then(() => undefined)]);
      if (app === undefined) {
        log.info(`stopped on ${await signal} before it served`);
        process.exit(EXIT.ok);
      }
      log.info({ url: app.url, adminUrl: app.adminUrl, audit: options.audit }, 'serving');
      log.info(`stopping on ${await signal}`);
      await app.stop();
      log.info('stopped');
    });
}

function startFromFiles(options: ServeOptions, log: Logger): Promise<RunningApp> {
  const { policies: policyPaths, certDir: certDirectory = DEFAULT_CERT_DIR, san: names } = options;
  return startApp({ ...options, policyPaths, certDirectory, names, clients: clientsOf(options), log });
}

async function startInCluster(options: ServeOptions, log: Logger): Promise<RunningApp> {
  const safe = options.certDir === undefined ? SAFE_CA_OVERLAP_SECONDS : SAFE_FILES_OVERLAP_SECONDS;
  if (options.caOverlap < safe) log.warn(`--ca-overlap ${options.caOverlap}: less than ${safe} seconds is not safe`);
  const { client, namespace } = await openCluster(options);
  return startClusterApp({
    ...options,
    client,
    namespace,
    certDirectory: options.certDir,
    clients: clientsOf(options),
    defaultPolicies: options.defaultPolicies,
    ownerClusterRole: options.ownerClusterRole,
    evictionRate: options.nodeEvictionRate,
    shutdownDelayMs: options.shutdownDelay * 1000,
    caOverlapMs: options.caOverlap * 1000,
    log,
  });
}

function clientsOf({ clientCa: caFile, clientName: name }: ServeOptions): ClientFile | undefined {
  if (caFile !== undefined) return { caFile, name };
  if (name !== undefined) throw new InputError(['--client-name needs --client-ca']);
  return undefined;
}

/** An option that does nothing is a mistake of whoever gave it. */
function refuseIdle(names: readonly string[], cluster: boolean, command: Command): void {
  const idle = command.options.filter(
    (option) =>
      names.includes(option.attributeName()) && command.getOptionValueSource(option.attributeName()) === 'cli',
  );
  const where = cluster ? 'cannot be used with --cluster' : 'needs --cluster';
  if (idle.length > 0) throw new InputError(idle.map(({ long }) => `${long} ${where}`));
}

/** A replica knows of a new Secret within 45 s, also over a dead connection, and serves it 10 s later. */
const SAFE_CA_OVERLAP_SECONDS = 60;

/** A kubelet shows a changed Secret in the files of a pod within 100 s, and another one's may be as quick as none. */
const SAFE_FILES_OVERLAP_SECONDS = 180;

const DNS_NAME = /^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/i;

function collectNames(name: string, before: readonly string[]): string[] {
  if (isIssuableIp(name) || DNS_NAME.test(name)) return [...before, name];
  throw new InvalidArgumentError('Expected a DNS name or an IP address.');
}

/** Certificates know neither zones (`fe80::1%eth0`) nor IPv4 addresses in IPv6's clothes (`::ffff:10.0.0.1`). */
function isIssuableIp(name: string): boolean {
  return isIP(name) === 4 || (isIP(name) === 6 && !/[%.]/.test(name));
}
