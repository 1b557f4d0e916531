import { once } from 'node:events';
import { isIP } from 'node:net';
import { Command, InvalidArgumentError } from 'commander';
import { startApp } from '../app.ts';
import { createLogger } from './logger.ts';

interface ServeOptions {
  readonly policies?: readonly string[];
  readonly audit: boolean;
  readonly host: string;
  readonly port: number;
  readonly adminHost: string;
  readonly adminPort: number;
  readonly certDir: string;
  readonly san: readonly string[];
}

/** `taintkeeper serve`: runs the webhook until SIGTERM or SIGINT. */
export function serveCommand(): Command {
  return new Command('serve')
    .description(
      'Answer AdmissionReviews over HTTPS: POST /validate and POST /mutate. A second, plain listener has /livez, /readyz and /metrics.',
    )
    .option(
      '--policies <path...>',
      'policy files, or directories of them (without subdirectories); watched (default: the built-in policies)',
    )
    .option('--audit', 'take every policy to be in mode Audit: report, change and refuse nothing', false)
    .option('--port <port>', 'port of the HTTPS listener; 0 takes a free one', parsePort, 8443)
    .option('--host <address>', 'address of the HTTPS listener', '0.0.0.0')
    .option('--admin-port <port>', 'port of the plain listener; 0 takes a free one', parsePort, 8080)
    .option('--admin-host <address>', 'address of the plain listener', '127.0.0.1')
    .option(
      '--cert-dir <directory>',
      'where ca.crt, tls.crt and their keys are; what is missing or expires soon is issued, unless tls.crt and tls.key are there without ca.key',
      'certs',
    )
    .option(
      '--san <name...>',
      'further DNS names and IP addresses for the certificate, such as NAME.NAMESPACE.svc',
      collectNames,
      [],
    )
    .addHelpText(
      'after',
      `
Exit code: 0 after SIGTERM or SIGINT, 2 if it cannot start.
Environment: LOG_LEVEL (trace to fatal, silent; default info), NO_COLOR.

Example, for a Service "taintkeeper" in the namespace "taintkeeper":
  taintkeeper serve --policies policies/ --san taintkeeper.taintkeeper.svc`,
    )
    .action(async (options: ServeOptions) => {
      const log = createLogger();
      const app = await startApp({
        policyPaths: options.policies,
        audit: options.audit,
        host: options.host,
        port: options.port,
        adminHost: options.adminHost,
        adminPort: options.adminPort,
        certDirectory: options.certDir,
        names: options.san,
        log,
      });
      log.info({ url: app.url, adminUrl: app.adminUrl, audit: options.audit }, 'serving');
      log.info(`stopping on ${await stopSignal()}`);
      await app.stop();
      log.info('stopped');
    });
}

/** The first signal to stop; a second one ends the program as it would any other. */
async function stopSignal(): Promise<string> {
  const listening = new AbortController();
  const { signal } = listening;
  const names = ['SIGTERM', 'SIGINT'].map((name) => once(process, name, { signal }).then(() => name));
  try {
    return await Promise.race(names);
  } finally {
    listening.abort();
    await Promise.allSettled(names);
  }
}

const MAX_PORT = 65_535;

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= MAX_PORT) return port;
  throw new InvalidArgumentError(`Expected a port from 0 to ${MAX_PORT}.`);
}

const DNS_NAME = /^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/i;

function collectNames(name: string, before: readonly string[]): string[] {
  if (isIssuableIp(name) || DNS_NAME.test(name)) return [...before, name];
  throw new InvalidArgumentError('Expected a DNS name or an IP address.');
}

/** Certificates know neither zones (`fe80::1%eth0`) nor IPv4 addresses in IPv6's clothes (`::ffff:10.0.0.1`). */
function isIssuableIp(name: string): boolean {
  return isIP(name) === 4 || (isIP(name) === 6 && !/[%.]/.test(name));
}
