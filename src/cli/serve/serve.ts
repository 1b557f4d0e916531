import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { Command, InvalidArgumentError } from 'commander';
import type { Logger } from 'pino';
import { startClusterApp } from '../../replica/cluster-app.ts';
import { startFilesApp } from '../../replica/files-app.ts';
import { addProcessMetrics, createMetrics, type Metrics } from '../../replica/metrics.ts';
import type { Listeners, RunningApp } from '../../replica/servers.ts';
import { DEFAULT_PORTS } from '../../server/default-ports.ts';
import { VERSION } from '../../version.ts';
import { CLUSTER_OPTIONS, type ClusterOptions, openCluster } from '../cluster-options.ts';
import { parsePort, parseSeconds, refuseOptions, repeatable } from '../options.ts';
import { EXIT, listenForStop } from '../process.ts';
import { createLogger } from './logger.ts';

interface ServeOptions extends Listeners, ClusterOptions {
  readonly policies?: readonly string[];
  readonly audit: boolean;
  readonly certDir?: string;
  readonly san: readonly string[];
  readonly clientCa?: string;
  readonly cluster: boolean;
  readonly defaultPolicies?: string;
  readonly ownerClusterRole?: string;
  readonly shutdownDelay: number;
  readonly page: boolean;
}

/** Options without effect with `--cluster`, or without it. */
const FILES_ONLY = ['policies', 'san'];
const CLUSTER_ONLY = ['kubeconfig', 'context', 'namespace', 'defaultPolicies', 'ownerClusterRole', 'shutdownDelay'];

const DEFAULT_CERT_DIR = 'certs';

// Tests set these values by environment variables: their Service has another port, an hour is too long, and two seconds are too short for a slow machine.

/** The port of the Service in the manifests. */
const SERVICE_PORT = 443;
/**
 * How long an earlier CA stays trusted after a rotation. A replica serves the new certificate within a minute, and with --cert-dir within
 * three: a kubelet shows a changed Secret in the files of a pod within 100 s.
 */
const CA_OVERLAP_SECONDS = 3_600;
/**
 * How long the API server waits for an answer of the webhook. A decision takes less than a millisecond. A longer timeout would only delay updates of
 * nodes, and users who apply a policy, while the webhook is unavailable.
 */
const WEBHOOK_TIMEOUT_SECONDS = 2;

/** `taintkeeper serve`: runs the webhook until SIGTERM or SIGINT. */
export function serveCommand(): Command {
  return new Command('serve')
    .description(
      'Answer AdmissionReviews over HTTPS: POST /validate and POST /mutate and, in a cluster, POST /warn for warnings on apply. A second listener, over HTTP, serves /livez, /readyz and /metrics, and to loopback clients a read-only page.',
    )
    .option(
      '--policies <path>',
      'policy file, or directory of them (without subdirectories); watched; may be repeated (default: the built-in policies)',
      repeatable,
    )
    .option(
      '--audit',
      'policies only report, whatever their mode is; with --cluster, startup taints are still removed from ready nodes',
      false,
    )
    .option('--port <port>', 'port of the HTTPS listener; 0 takes a free one', parsePort, DEFAULT_PORTS.webhook)
    .option('--host <address>', 'address of the HTTPS listener', '0.0.0.0')
    .option('--admin-port <port>', 'port of the plain listener; 0 takes a free one', parsePort, DEFAULT_PORTS.admin)
    .option('--admin-host <address>', 'address of the plain listener', '127.0.0.1')
    .option(
      '--no-page',
      'serve no page on the plain listener; the page shows policies, nodes and decisions with user names',
    )
    .option(
      '--cert-dir <directory>',
      `the directory of ca.crt, tls.crt and their keys; taintkeeper issues those that are missing or expire soon, unless tls.crt and tls.key are there without ca.key (default: "${DEFAULT_CERT_DIR}"; with --cluster: the Secret)`,
    )
    .option(
      '--san <name>',
      'a further DNS name or IP address for the certificate, such as NAME.NAMESPACE.svc; may be repeated',
      collectNames,
      [],
    )
    .option(
      '--client-ca <file>',
      'accept only clients with a certificate of these CAs (the API server must be configured to show one); watched',
    )
    .optionsGroup('In a cluster:')
    .option('--cluster', 'take policies and certificates from the API server, and register the webhook with it', false)
    .addOption(CLUSTER_OPTIONS.kubeconfig())
    .addOption(CLUSTER_OPTIONS.context())
    .addOption(CLUSTER_OPTIONS.namespace())
    .option('--default-policies <configmap>', 'a ConfigMap with default policies: each is created once')
    .option(
      '--owner-cluster-role <name>',
      'the ClusterRole that owns the webhook configurations and the bindings of native policies: they are deleted with it, and it is deleted with the namespace',
    )
    .option(
      '--shutdown-delay <seconds>',
      'how long requests are still answered after SIGTERM, while the endpoints change',
      parseSeconds,
      10,
    )
    .addHelpText(
      'after',
      `
Exit code: 0 after SIGTERM or SIGINT, 2 if it cannot start.
Environment: LOG_LEVEL (trace to fatal, silent; default info), NO_COLOR, POD_NAME (this replica's name; default: the host's name).

Example, for a webhook at webhook.example.com with policies from files:
  taintkeeper serve --policies policies/ --san webhook.example.com`,
    )
    .action(async (options: ServeOptions, command: Command) => {
      if (options.cluster) refuseOptions(command, FILES_ONLY, 'cannot be used with --cluster');
      else refuseOptions(command, CLUSTER_ONLY, 'needs --cluster');
      const log = await createLogger();
      // The first process of a container ignores signals for which it has no handler.
      using stop = listenForStop();
      const { signal } = stop;
      const metrics = createMetrics(VERSION);
      addProcessMetrics(metrics);
      const starting = options.cluster ? startInCluster(options, metrics, log) : startFromFiles(options, metrics, log);
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

function startFromFiles(options: ServeOptions, metrics: Metrics, log: Logger): Promise<RunningApp> {
  const { policies: policyPaths, certDir: certDirectory = DEFAULT_CERT_DIR, san: names } = options;
  return startFilesApp({ ...options, policyPaths, certDirectory, names, clientCa: options.clientCa, metrics, log });
}

async function startInCluster(options: ServeOptions, metrics: Metrics, log: Logger): Promise<RunningApp> {
  const { client, namespace } = await openCluster(options);
  return startClusterApp({
    ...options,
    client,
    namespace,
    servicePort: Number(process.env.TAINTKEEPER_TEST_SERVICE_PORT ?? SERVICE_PORT),
    // The pod's name: in the node's network, the host name is the node's.
    replica: process.env.POD_NAME || hostname(),
    certDirectory: options.certDir,
    clientCa: options.clientCa,
    defaultPolicies: options.defaultPolicies,
    ownerClusterRole: options.ownerClusterRole,
    shutdownDelayMs: options.shutdownDelay * 1000,
    caOverlapMs: 1_000 * Number(process.env.TAINTKEEPER_TEST_CA_OVERLAP_SECONDS ?? CA_OVERLAP_SECONDS),
    webhookTimeoutSeconds: Number(process.env.TAINTKEEPER_TEST_WEBHOOK_TIMEOUT_SECONDS ?? WEBHOOK_TIMEOUT_SECONDS),
    metrics,
    log,
  });
}

const DNS_NAME = /^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/i;

function collectNames(name: string, before: readonly string[]): string[] {
  if (isIssuableIp(name) || DNS_NAME.test(name)) return [...before, name];
  throw new InvalidArgumentError('Expected a DNS name or an IP address.');
}

/** Certificates have neither zones (`fe80::1%eth0`) nor IPv4-mapped IPv6 addresses (`::ffff:10.0.0.1`). */
function isIssuableIp(name: string): boolean {
  return isIP(name) === 4 || (isIP(name) === 6 && !/[%.]/.test(name));
}
