import { lookup } from 'node:dns/promises';
import type { AddressInfo, Socket } from 'node:net';
import type { Logger } from 'pino';
import { WARNING_PATH } from '../controllers/webhooks/desired-webhooks.ts';
import { InputError } from '../files/input-error.ts';
import { type Page, pageRoutes } from '../page/page-routes.ts';
import type { PolicySet } from '../policy/policy-set.ts';
import { throttle } from '../runtime/throttle.ts';
import { type Check, createAdminServer } from '../server/admin-server.ts';
import { createAdmissionServer } from '../server/admission-server.ts';
import { type ConnectionLimits, followConnections } from '../server/connections.ts';
import type { AdmissionMetrics } from '../server/metrics.ts';
import type { JudgedCreation, JudgedRequest } from '../server/reviewer.ts';
import { secureContext } from '../server/tls.ts';
import type { WarnOnApply } from './apply-warnings/policy-warnings.ts';
import { warningRoute } from './apply-warnings/warning-route.ts';
import type { Metrics } from './metrics.ts';
import type { ServedTls } from './served-tls.ts';

/** The addresses of both servers. Port 0 takes a free one. */
export interface Listeners {
  /** Of the HTTPS listener. */
  readonly host: string;
  readonly port: number;
  /** Of the plain listener for probes, metrics and the page. */
  readonly adminHost: string;
  readonly adminPort: number;
}

/** One replica: with files, or in a cluster. */
export interface RunningApp {
  /** Of the HTTPS listener. */
  readonly url: string;
  /** Of the plain listener. */
  readonly adminUrl: string;
  /** Finishes requests in flight, for at most `stopGraceMs`, and ends. */
  stop(): Promise<void>;
}

export interface AdminOptions {
  readonly log: Logger;
  readonly listeners: Pick<Listeners, 'adminHost' | 'adminPort'>;
  readonly checks: () => readonly Check[];
  readonly metrics: Pick<Metrics, 'registry'>;
  /** Undefined for no page. */
  readonly page: Page | undefined;
}

export interface RunningAdmin {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Starts the plain server with probes, metrics and the page.
 * @throws InputError for an address that cannot be listened on
 */
export async function startAdmin({ listeners, checks, metrics, page, log }: AdminOptions): Promise<RunningAdmin> {
  const admin = createAdminServer({ checks, registry: metrics.registry, page: page && pageRoutes(page) });
  followConnections(admin.server, connectionLimits(listeners.adminPort, log));
  await listen(admin, listeners.adminHost, listeners.adminPort, '--admin-port');
  return { url: urlOf('http', admin.server.address() as AddressInfo), stop: () => admin.close() };
}

export interface AdmissionOptions {
  readonly listeners: Pick<Listeners, 'host' | 'port'>;
  readonly tls: ServedTls;
  readonly policies: () => PolicySet;
  readonly onJudged?: (judged: JudgedRequest) => void;
  readonly onCreation?: (creation: JudgedCreation) => void;
  /** Warnings for users who write a policy; undefined: none. */
  readonly warnOnApply?: WarnOnApply;
  readonly metrics: AdmissionMetrics;
  readonly log: Logger;
  /** How long a shutdown waits for requests in flight and connections that do not end by themselves. */
  readonly stopGraceMs?: number | undefined;
}

export interface RunningAdmission {
  readonly url: string;
  /** From now on every connection ends after its next answer, so that clients look for another replica. */
  drain(): void;
  /** Finishes requests in flight, for at most `stopGraceMs`, and ends. */
  stop(): Promise<void>;
}

const STOP_GRACE_MS = 5_000;

/** For each listener: an idle API server keeps 25, and sends at most some hundred requests at a time. */
const MAX_CONNECTIONS = 500;

/**
 * Starts the HTTPS server. Once other clients may call, open connections end after their next answer.
 * @throws InputError for an address that cannot be listened on
 */
export async function startAdmission(options: AdmissionOptions): Promise<RunningAdmission> {
  const { listeners, tls, policies, metrics, log, onJudged, onCreation, stopGraceMs = STOP_GRACE_MS } = options;
  const clients = tls.clients();
  let draining = false;
  // Connections whose clients were checked against the current CAs.
  let current = new WeakSet<Socket>();
  const admission = createAdmissionServer({
    tls: tls.certificate(),
    clients,
    policies,
    metrics,
    log,
    draining: (connection) => draining || (clients !== undefined && !current.has(connection)),
    ...(onJudged ? { onJudged } : {}),
    ...(onCreation ? { onCreation } : {}),
  });
  if (options.warnOnApply) admission.post(WARNING_PATH, warningRoute(options.warnOnApply));
  const { server } = admission;
  const connections = followConnections(server, connectionLimits(listeners.port, log));
  server.on('secureConnection', (connection) => current.add(connection));
  const renew = () => server.setSecureContext(secureContext(tls.certificate(), tls.clients()?.ca));
  tls.certificateChanges.subscribe(renew);
  tls.clientChanges.subscribe(() => {
    renew();
    // If a connection is closed at once, a request that is being sent is lost.
    current = new WeakSet();
  });
  await listen(admission, listeners.host, listeners.port, '--port');

  return {
    url: urlOf('https', server.address() as AddressInfo),
    drain() {
      draining = true;
    },
    async stop() {
      const bound = setTimeout(() => connections.destroyAll(), stopGraceMs);
      await admission.close();
      clearTimeout(bound);
    },
  };
}

function connectionLimits(port: number, log: Logger): ConnectionLimits {
  const tell = (closed: number) =>
    log.warn({ port, closed }, 'too many connections: closed those that were idle for the longest time');
  return { max: MAX_CONNECTIONS, onClosed: throttle(tell) };
}

/** Listens on one address: for a name with several addresses, Fastify creates further servers, and gives access only to the first. */
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
