import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { eventsOf } from './admission/request-events.ts';
import { announceCertificates, type RunningApp } from './app.ts';
import type { ServableCertificates } from './certs/certificate-directory.ts';
import { keepCertificates } from './certs/certificate-keeper.ts';
import { keepSecret } from './certs/secret-keeper.ts';
import type { ApiClient } from './cluster/client/api-client.ts';
import { createEventRecorder } from './cluster/events/event-recorder.ts';
import { isLed } from './cluster/leader/is-led.ts';
import { leaderClient } from './cluster/leader/leader-client.ts';
import { electLeader } from './cluster/leader/leader-election.ts';
import type { Leadership } from './cluster/leader/leadership.ts';
import { persist } from './cluster/persist.ts';
import { type ClusterPolicies, watchPolicies } from './cluster/policies.ts';
import { watchWebhookConfigurations } from './cluster/webhook-configurations.ts';
import { serverName } from './controllers/service-endpoint.ts';
import { type Dependency, type LeaderWork, startLeaderWork } from './leader.ts';
import { formatProblem } from './policy/problem.ts';
import { certificateCheck, clusterPoliciesCheck, stoppingCheck, trustCheck } from './readiness.ts';
import { createMetrics, type Metrics } from './server/metrics.ts';
import { type Listeners, type RunningServers, startServers } from './servers.ts';
import { VERSION } from './version.ts';

export interface ClusterAppOptions extends Listeners {
  readonly client: ApiClient;
  /** Where taintkeeper runs: its Service, Secret and Lease are there. */
  readonly namespace: string;
  /** The Service by which the API server reaches it. */
  readonly service: string;
  readonly servicePort: number;
  /** Name of the Secret with the certificates. */
  readonly secret: string;
  /** Name of the Lease that says which replica leads. */
  readonly lease: string;
  /** What tells this replica from the others. */
  readonly identity: string;
  /** Serve certificates from here in place of the Secret's. */
  readonly certDirectory: string | undefined;
  /** Name of the ConfigMap with policies to be created once. */
  readonly defaultPolicies: string | undefined;
  readonly ownerClusterRole: string | undefined;
  /** Take every policy to be in mode Audit. */
  readonly audit: boolean;
  /** How long requests are still answered after a stop was asked for, while others learn of it, in milliseconds. */
  readonly shutdownDelayMs: number;
  /** How long an earlier CA stays trusted after the certificates were replaced, in milliseconds. */
  readonly caOverlapMs: number;
  readonly log: Logger;
}

/**
 * Starts one replica in a cluster: everything is wired here. What the API server cannot give yet is asked for again and again.
 * @throws InputError for addresses that cannot be listened on; CertificateDirectoryError
 */
export async function startClusterApp(options: ClusterAppOptions): Promise<RunningApp> {
  const { client, namespace, audit, identity, log } = options;
  const service = { namespace, name: options.service, port: options.servicePort };
  const metrics = createMetrics(VERSION);

  await using starting = new AsyncDisposableStack();

  const events = createEventRecorder({ client, identity, log });
  metrics.countDroppedEvents(events.dropped);
  starting.defer(() => events.stop());

  let work: LeaderWork | undefined;
  const changed = (what: Dependency) => work?.changed(what);

  const policies = watchPolicies({
    client,
    audit,
    onChange() {
      announcePolicies(policies, audit, metrics, log);
      changed('policies');
    },
    onState: (kind, connected) => metrics.watchState(kind, connected),
    log,
  });
  starting.defer(async () => void (await policies.stop()));

  const webhooks = watchWebhookConfigurations({ client, onChange: () => changed('webhooks'), log });
  starting.defer(async () => void (await webhooks.stop()));

  let servers: RunningServers | undefined;
  const onServe = (found: ServableCertificates) => {
    for (const what of found.issued) log.info(`issued ${what}`);
    announceCertificates(found, metrics, log);
    servers?.useCertificate(found.serving);
    changed('certificates');
  };
  const onFault = (message: string) => log.error(`certificates not replaced: ${message}`);
  const names = [serverName(service)];
  const secret = options.certDirectory === undefined ? await openSecret() : undefined;
  const certificates =
    secret?.keeper ?? (await keepCertificates({ directory: options.certDirectory ?? '', names, onServe, onFault }));
  starting.defer(() => certificates.stop());

  let stopping = false;
  const trusted = trustCheck(certificates, webhooks);
  servers = await startServers({
    listeners: options,
    tls: certificates.current().serving,
    policies() {
      // With half of them, what is protected would pass: let failurePolicy decide.
      if (!policies.isSynced()) throw new Error('the policies have not been read yet');
      return policies.compiled();
    },
    checks: () => [
      clusterPoliciesCheck(policies, audit),
      certificateCheck(certificates),
      trusted(),
      stoppingCheck(stopping),
    ],
    onJudged({ request, judgement }) {
      for (const event of eventsOf(request, judgement)) events.record(event);
    },
    metrics,
    log,
  });
  const { url, adminUrl, stop, drain, useCertificate } = servers;
  starting.defer(stop);
  // What was renewed while the servers started.
  useCertificate(certificates.current().serving);

  const election = electLeader({
    client,
    namespace,
    name: options.lease,
    // A restarted container keeps the pod's name: it must not take the lease of the process before it for its own.
    identity: `${identity}_${randomUUID()}`,
    log,
    lead,
    onChange: () => metrics.leading(election.isLeader()),
  });

  const running = starting.move();
  return {
    url,
    adminUrl,
    async stop() {
      stopping = true;
      drain();
      await election.stop();
      // Until the endpoints are without this replica, requests keep coming.
      await delay(options.shutdownDelayMs);
      await running.disposeAsync();
      client.close();
    },
  };

  async function lead(leadership: Leadership): Promise<void> {
    const { signal } = leadership;
    const ended = once(signal, 'abort');
    await Promise.race([ended, Promise.all([policies.synced, webhooks.synced])]);
    if (signal.aborted) return;
    work = startLeaderWork({
      ...options,
      client: leaderClient(client, leadership),
      service,
      policies,
      webhooks,
      certificates,
      secret,
      metrics,
    });
    await ended;
    await work.stop();
    work = undefined;
  }

  async function openSecret() {
    const ref = { namespace, name: options.secret };
    const keeper = await persist('certificates', log, () =>
      keepSecret({
        client,
        ref,
        names,
        hasRescuer: () => isLed(client, namespace, options.lease),
        onServe,
        onFault,
        onChange: () => changed('certificates'),
        log,
      }),
    );
    return { keeper, ref, names };
  }
}

function announcePolicies(policies: ClusterPolicies, audit: boolean, metrics: Metrics, log: Logger): void {
  const valid = { TaintPolicy: 0, TolerationPolicy: 0 };
  const invalid = { TaintPolicy: 0, TolerationPolicy: 0 };
  for (const { kind, name, result } of policies.objects()) {
    if (result.ok) {
      valid[kind]++;
    } else {
      invalid[kind]++;
      log.error(`${kind} ${name} is not in force: ${result.problems.map(formatProblem).join('; ')}`);
    }
  }
  metrics.policiesLoaded(valid, Date.now());
  metrics.policiesInvalid(invalid);
  const inForce = policies.valid().map(({ kind, name, spec }) => `${kind}/${name} (${spec.mode})`);
  log.info({ policies: inForce }, audit ? 'policies in force, all as Audit' : 'policies in force');
}
