import { lookup } from 'node:dns/promises';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { readBuiltinPolicies } from './builtin-policies.ts';
import { keepCertificates } from './certs/certificate-keeper.ts';
import { InputError } from './files/input-error.ts';
import { listPolicyFiles, readPolicyFiles } from './files/policy-files.ts';
import { openPolicyStore, type PolicyLoad } from './files/policy-store.ts';
import { fingerprint, watchFiles } from './files/watch-files.ts';
import { certificateCheck, policyCheck, stoppingCheck } from './readiness.ts';
import { createAdminServer } from './server/admin-server.ts';
import { createAdmissionServer, secureContext } from './server/admission-server.ts';
import { followConnections } from './server/connections.ts';
import { createMetrics, type Metrics } from './server/metrics.ts';
import { VERSION } from './version.ts';

export interface AppOptions {
  /** Files and directories with policies, or undefined for the built-in ones. */
  readonly policyPaths: readonly string[] | undefined;
  /** Take every policy to be in mode Audit. */
  readonly audit: boolean;
  /** Address and port of the HTTPS listener; port 0 takes a free one. */
  readonly host: string;
  readonly port: number;
  /** Address and port of the plain listener for probes and metrics; port 0 takes a free one. */
  readonly adminHost: string;
  readonly adminPort: number;
  readonly certDirectory: string;
  /** DNS names and IP addresses that the serving certificate is issued for. */
  readonly names: readonly string[];
  readonly log: Logger;
  /** How long a stop waits for requests in flight and connections that do not end by themselves. */
  readonly stopGraceMs?: number;
  /** How often policy and certificate files are looked at; see {@link watchFiles}. */
  readonly pollIntervalMs?: number | undefined;
}

export interface RunningApp {
  /** Of the HTTPS listener. */
  readonly url: string;
  /** Of the plain listener. */
  readonly adminUrl: string;
  /** Finishes what is in flight, for at most `stopGraceMs`, and ends. */
  stop(): Promise<void>;
}

export const STOP_GRACE_MS = 5_000;

/**
 * Starts the whole of taintkeeper: everything is wired here.
 * @throws InputError for policies that cannot be read and addresses that cannot be listened on; CertificateDirectoryError
 */
export async function startApp(options: AppOptions): Promise<RunningApp> {
  const { policyPaths, log, stopGraceMs = STOP_GRACE_MS, pollIntervalMs } = options;
  const metrics = createMetrics(VERSION);

  await using starting = new AsyncDisposableStack();

  const listFiles = async () => (policyPaths ? listPolicyFiles(policyPaths) : []);
  const before = await fingerprint(listFiles);
  const store = await openPolicyStore(
    policyPaths ? () => readPolicyFiles(policyPaths) : readBuiltinPolicies,
    options.audit,
  );
  const announce = (load: PolicyLoad) => announcePolicies(load, options.audit, metrics, log);
  announce(store.lastLoad());
  const policyWatch = await watchFiles(listFiles, async () => announce(await store.reload()), pollIntervalMs, before);
  starting.defer(() => policyWatch.stop());

  let admission: ReturnType<typeof createAdmissionServer> | undefined;
  const certificates = await keepCertificates({
    directory: options.certDirectory,
    names: options.names,
    pollIntervalMs,
    onServe(found) {
      for (const what of found.issued) log.info({ directory: options.certDirectory }, `issued ${what}`);
      metrics.certificateServed('serving', found.certificate.validToDate);
      if (found.ca) metrics.certificateServed('ca', found.ca.validToDate);
      admission?.server.setSecureContext(secureContext(found.serving));
      log.info(`serving certificate expires ${found.certificate.validToDate.toISOString()}`);
    },
    onFault: (message) => log.error(`certificates not replaced, the last good ones stay: ${message}`),
  });
  starting.defer(() => certificates.stop());

  let stopping = false;
  const admin = createAdminServer({
    checks: () => [policyCheck(store, options.audit), certificateCheck(certificates), stoppingCheck(stopping)],
    registry: metrics.registry,
  });
  starting.defer(() => admin.close());

  admission = createAdmissionServer({ tls: certificates.current().serving, policies: store.policies, metrics, log });
  const { server, close } = admission;
  const connections = followConnections(server);
  starting.defer(async () => {
    const bound = setTimeout(() => connections.destroyAll(), stopGraceMs);
    await close();
    clearTimeout(bound);
  });
  await listen(admission, options.host, options.port, '--port');
  // Last, so that nobody is told "ready" before.
  await listen(admin, options.adminHost, options.adminPort, '--admin-port');

  const running = starting.move();
  return {
    url: urlOf('https', server.address() as AddressInfo),
    adminUrl: urlOf('http', admin.server.address() as AddressInfo),
    stop() {
      stopping = true;
      return running.disposeAsync();
    },
  };
}

function announcePolicies(load: PolicyLoad, audit: boolean, metrics: Metrics, log: Logger): void {
  if (!load.ok) {
    metrics.policiesRefused();
    for (const fault of load.faults) log.error(`policies not replaced, the last good ones stay: ${fault}`);
    return;
  }
  const counts = { TaintPolicy: 0, TolerationPolicy: 0 };
  for (const { kind } of load.policies) counts[kind]++;
  metrics.policiesLoaded(counts, load.at.getTime());
  const policies = load.policies.map(({ kind, name, spec }) => `${kind}/${name} (${spec.mode})`);
  log.info({ policies }, audit ? 'policies in force, all as Audit' : 'policies in force');
}

/** Listens on one address: for a name that has several, Fastify makes further servers, and gives access to the first only. */
async function listen(app: Listener, host: string, port: number, option: string): Promise<void> {
  try {
    const { address } = await lookup(host);
    await app.listen({ host: address, port });
  } catch (error) {
    throw new InputError([`cannot listen on ${host} port ${port} (see ${option}): ${(error as Error).message}`]);
  }
}

interface Listener {
  listen(where: { host: string; port: number }): PromiseLike<unknown>;
}

function urlOf(scheme: string, { address, family, port }: AddressInfo): string {
  return `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
