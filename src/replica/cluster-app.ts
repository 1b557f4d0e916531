import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { eventsOf } from '../admission/request-events.ts';
import type { ServableCertificates } from '../certs/certificate-directory.ts';
import { type CertificateKeeper, keepCertificates } from '../certs/certificate-keeper.ts';
import { type ClientFile, followClients } from '../certs/client-authority.ts';
import type { ApiClient } from '../cluster/client/api-client.ts';
import { createEventRecorder } from '../cluster/events/event-recorder.ts';
import { electLeader, isLed, type LeaderElection } from '../cluster/lease/leader-election.ts';
import type { Leadership } from '../cluster/lease/leadership.ts';
import { leaderClient, newIdentity, replicaOf } from '../cluster/lease/leadership.ts';
import { type ClusterPolicies, POLICY_RESOURCES, watchPolicies } from '../cluster/policies.ts';
import { keepSecret } from '../cluster/secret-keeper.ts';
import { serverName } from '../cluster/service-endpoint.ts';
import { watchWebhookConfigurations } from '../cluster/webhook-configurations.ts';
import { printable } from '../kubernetes/text.ts';
import { type Dependency, type LeaderOptions, type LeaderWork, startLeaderWork } from '../leader.ts';
import { createDecisionLog } from '../page/decision-log.ts';
import { openPage } from '../page/page-routes.ts';
import { certificateState, clusterPolicyStates, webhookStates } from '../page/registered-states.ts';
import type { Leader } from '../page/state.ts';
import { persist } from '../runtime/standing-fault.ts';
import type { Check } from '../server/admin-server.ts';
import { createMetrics, type Metrics } from '../server/metrics.ts';
import { VERSION } from '../version.ts';
import type { RunningApp } from './app.ts';
import {
  announceCertificates,
  announcePolicies,
  certificateCheck,
  clusterPoliciesCheck,
  complaintsOf,
  countByKind,
  stoppingCheck,
  trustCheck,
} from './readiness.ts';
import { type Listeners, type RunningAdmission, startAdmin, startAdmission } from './servers.ts';

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
  /** How many nodes a second get a taint that evicts pods, in each zone. */
  readonly evictionRate: number;
  /** Take every policy to be in mode Audit. */
  readonly audit: boolean;
  /** How long requests are still answered after a stop was asked for, while others learn of it, in milliseconds. */
  readonly shutdownDelayMs: number;
  /** How long an earlier CA stays trusted after the certificates were replaced, in milliseconds. */
  readonly caOverlapMs: number;
  /** Who may call the webhook; undefined: everybody. */
  readonly clients: ClientFile | undefined;
  /** Whether the plain listener has a page for people. */
  readonly page: boolean;
  /** Whether the page is for whoever reaches that listener, and not only for those who do by loopback. */
  readonly exposePage: boolean;
  readonly log: Logger;
}

/**
 * Starts one replica in a cluster: everything is wired here. What the API server cannot give yet is asked for again and again.
 * @throws InputError for addresses that cannot be listened on; CertificateDirectoryError
 */
export async function startClusterApp(options: ClusterAppOptions): Promise<RunningApp> {
  const { client, namespace, audit, identity, caOverlapMs: overlapMs, log } = options;
  const service = { namespace, name: options.service, port: options.servicePort };
  const names = [serverName(service)];
  const metrics = createMetrics(VERSION);
  let work: LeaderWork | undefined;
  const changed = (what: Dependency) => work?.changed(what);

  await using starting = new AsyncDisposableStack();

  const events = createEventRecorder({ client, identity, log });
  metrics.countDroppedEvents(events.dropped);
  starting.defer(() => events.stop());

  const announce = announceChanges(audit, metrics, log);
  const policies = watchPolicies({
    client,
    audit,
    onChange() {
      announce(policies);
      changed('policies');
    },
    onStatus: () => changed('status'),
    onState: (kind, connected) => metrics.watchState(POLICY_RESOURCES[kind], connected),
    log,
  });
  starting.defer(async () => void (await policies.stop()));

  let secret: LeaderOptions['secret'];
  let recheckCertificates = () => {};
  const webhooks = watchWebhookConfigurations({
    client,
    onChange() {
      recheckCertificates();
      changed('webhooks');
    },
    log,
  });
  starting.defer(async () => void (await webhooks.stop()));

  let election: LeaderElection | undefined;
  // Before what the API server may keep us waiting for: a process that waits is alive.
  let certificates: CertificateKeeper | undefined;
  let stopping = false;
  const trusted = trustCheck(webhooks);
  const checks = () => [
    clusterPoliciesCheck(policies, audit),
    ...(certificates ? [certificateCheck(certificates, client.now()), trusted(certificates)] : [NO_CERTIFICATE_YET]),
    stoppingCheck(stopping),
  ];
  const decisions = options.page ? createDecisionLog({ replica: identity }) : undefined;
  const page = decisions
    ? await openPage(decisions, options.exposePage, {
        replica: identity,
        mode: 'cluster',
        audit,
        leader: () => leaderOf(election),
        checks,
        certificate: () => certificates && certificateState(certificates),
        webhooks: () => webhookStates(webhooks, certificates?.current().ca),
        policies: () => clusterPolicyStates(policies.objects(), audit),
        cluster: () => work && { survey: work.survey, ...policies.snapshot() },
      })
    : undefined;
  const admin = await startAdmin({ listeners: options, checks, metrics, page, log });
  starting.defer(admin.stop);

  let admission: RunningAdmission | undefined;
  const clients = await followClients(options, log, (bundle) => admission?.useClientCa(bundle));
  starting.defer(async () => clients?.stop());
  const onServe = (found: ServableCertificates) => {
    for (const what of found.issued) log.info(`issued ${what}`);
    announceCertificates(found, metrics, log);
    admission?.useCertificate(found.serving);
    changed('certificates');
  };
  const onFault = (message: string) => log.error(`certificates not replaced: ${message}`);
  if (options.certDirectory === undefined) {
    const ref = { namespace, name: options.secret };
    const keeper = await persist('certificates', log, () =>
      keepSecret({
        client,
        ref,
        names,
        overlapMs,
        hasRescuer: () => isLed(client, namespace, options.lease),
        isTrusted: webhooks.trust,
        onServe,
        onFault,
        onChange: () => changed('certificates'),
        log,
      }),
    );
    secret = { keeper, ref, names };
    certificates = keeper;
    recheckCertificates = keeper.recheck;
  } else {
    const onWait = () => log.info('a certificate of another CA is served once every caBundle has that CA');
    const callers = { isTrusted: webhooks.trust, now: client.now, onWait };
    const files = await keepCertificates({ directory: options.certDirectory, names, callers, onServe, onFault });
    certificates = files;
    recheckCertificates = files.recheck;
  }
  const keeper = certificates;
  starting.defer(() => keeper.stop());

  admission = await startAdmission({
    listeners: options,
    tls: keeper.current().serving,
    clients: clients?.known(),
    policies() {
      // With half of them, what is protected would pass: let failurePolicy decide.
      if (!policies.isSynced()) throw new Error('the policies have not been read yet');
      return policies.snapshot().compiled;
    },
    onJudged(judged) {
      const { request, judgement } = judged;
      for (const event of eventsOf(request, judgement)) events.record(event);
      decisions?.record(judged);
    },
    metrics,
    log,
  });
  const { drain } = admission;
  starting.defer(admission.stop);
  // What was renewed while the server started.
  admission.useCertificate(keeper.current().serving);
  if (clients) admission.useClientCa(clients.known().ca);

  election = electLeader({
    client,
    namespace,
    name: options.lease,
    identity: newIdentity(identity),
    log,
    lead,
    onChange: () => metrics.leading(election?.isLeader() ?? false),
  });

  const running = starting.move();
  return {
    url: admission.url,
    adminUrl: admin.url,
    async stop() {
      stopping = true;
      drain();
      // Until the endpoints are without this replica, requests keep coming.
      await Promise.all([election?.stop(), delay(options.shutdownDelayMs)]);
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
      signal,
      client: leaderClient(client, leadership),
      service,
      policies,
      webhooks,
      certificates: keeper,
      secret,
      record: events.record,
      metrics,
    });
    await ended;
    await work.stop();
    work = undefined;
  }
}

/** Who leads, as far as this replica knows. */
function leaderOf(election: LeaderElection | undefined): Leader {
  const identity = election?.leader();
  return { isThis: election?.isLeader() ?? false, ...(identity === undefined ? {} : { name: replicaOf(identity) }) };
}

const NO_CERTIFICATE_YET: Check = { name: 'certificate', state: 'failed', detail: 'there is none yet' };

/** What log and metrics say of the policies; of a broken one once, however often the others change. */
function announceChanges(audit: boolean, metrics: Metrics, log: Logger): (policies: ClusterPolicies) => void {
  let complaints = new Set<string>();
  return (policies) => {
    const invalid = policies.objects().filter(({ result }) => !result.ok);
    const found = new Set(complaintsOf(policies.objects()));
    for (const complaint of found) if (!complaints.has(complaint)) log.error(printable(complaint));
    complaints = found;
    metrics.policiesInvalid(countByKind(invalid));
    announcePolicies(policies.snapshot().policies, { audit, at: Date.now() }, metrics, log);
  };
}
