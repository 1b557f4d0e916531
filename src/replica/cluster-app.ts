import { once } from 'node:events';
import type { Logger } from 'pino';
import type { CertificateKeeper } from '../certs/certificate-keeper.ts';
import { watchWebhookConfigurations } from '../cluster/admission-registration/registered-webhooks.ts';
import type { ApiClient } from '../cluster/client/api-client.ts';
import { followCreations } from '../cluster/events/creations.ts';
import { createEventRecorder } from '../cluster/events/event-recorder.ts';
import { OWN_LEASE, OWN_SERVICE } from '../cluster/installation/own-names.ts';
import { serverName } from '../cluster/installation/service-ref.ts';
import { leaderClient } from '../cluster/lease/leader-client.ts';
import { electLeader, type LeaderElection } from '../cluster/lease/leader-election.ts';
import { type Leadership, newIdentity, replicaOf } from '../cluster/lease/leadership.ts';
import { watchPolicies } from '../cluster/policies/policies.ts';
import { POLICY_RESOURCES } from '../cluster/policies/policy-paths.ts';
import { type LeaderWork, startLeaderWork } from '../leader.ts';
import { createDecisionLog } from '../page/decision-log.ts';
import { openPage } from '../page/page-routes.ts';
import type { PageSources } from '../page/page-sources.ts';
import { clusterPolicyStates } from '../page/policy-states.ts';
import { certificateState, webhookStates } from '../page/replica-states.ts';
import type { Leader } from '../page/state.ts';
import type { PolicyKind } from '../policy/policy.ts';
import { pause } from '../runtime/pause.ts';
import { anyOf, createSubject } from '../runtime/source.ts';
import { policyWarnings } from './apply-warnings/policy-warnings.ts';
import { openClusterCertificates } from './cluster-certificates.ts';
import type { Metrics } from './metrics.ts';
import { addOwnCa } from './own-ca.ts';
import { logPolicyChanges } from './policy-log.ts';
import { clusterChecks, type ReplicaState } from './readiness.ts';
import { recordRequests } from './recorded-requests.ts';
import { openServedTls } from './served-tls.ts';
import { type Listeners, type RunningApp, startAdmin, startAdmission } from './servers.ts';

export interface ClusterAppOptions extends Listeners {
  readonly client: ApiClient;
  /** The namespace of its Service, Secret and Lease. */
  readonly namespace: string;
  readonly servicePort: number;
  /** The name of this replica: that of its pod. */
  readonly replica: string;
  /** Serve certificates from here in place of the Secret's. */
  readonly certDirectory: string | undefined;
  /** Name of the ConfigMap with policies to be created once. */
  readonly defaultPolicies: string | undefined;
  readonly ownerClusterRole: string | undefined;
  /** Every policy counts as mode Audit. */
  readonly audit: boolean;
  /** How long the replica answers requests after a shutdown was requested, while other components learn of it, in milliseconds. */
  readonly shutdownDelayMs: number;
  /** How long an earlier CA stays trusted after the certificates were replaced, in milliseconds. */
  readonly caOverlapMs: number;
  /** How long the API server waits for an answer of the webhooks. */
  readonly webhookTimeoutSeconds: number;
  /** A file with the CAs of the clients that may call the webhook; undefined: every client may. */
  readonly clientCa: string | undefined;
  /** Whether the plain listener serves the page. */
  readonly page: boolean;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/**
 * Starts one replica in a cluster: everything is wired here, except what only the leader runs. Requests that the API server cannot answer yet are repeated.
 * @throws InputError for addresses that cannot be listened on; CertificateDirectoryError
 */
export async function startClusterApp(options: ClusterAppOptions): Promise<RunningApp> {
  const { client, namespace, audit, replica, metrics, log } = options;
  const service = { namespace, name: OWN_SERVICE, port: options.servicePort };

  await using starting = new AsyncDisposableStack();

  const events = createEventRecorder({ client, identity: replica, log });
  metrics.countDroppedEvents(events.dropped);
  starting.defer(() => events.stop());
  const creations = followCreations({ client, log });
  starting.defer(() => creations.stop());

  const onState = (kind: PolicyKind, connected: boolean) => metrics.watchState(POLICY_RESOURCES[kind], connected);
  const policies = watchPolicies({ client, audit, onState, log });
  policies.changes.subscribe(logPolicyChanges(policies, audit, metrics, log));
  starting.defer(async () => void (await policies.stop()));

  const webhooks = watchWebhookConfigurations({ client, log });
  starting.defer(async () => void (await webhooks.stop()));

  // Before the API server is called, which may take long: a process that waits is alive.
  const present: Present = { stopping: false };
  const checks = clusterChecks({ client, policies, webhooks, audit }, present);
  const decisions = options.page ? createDecisionLog({ replica, now: client.now }) : undefined;
  const page = decisions && (await openPage(decisions, pageSources()));
  const admin = await startAdmin({ listeners: options, checks, metrics, page, log });
  starting.defer(admin.stop);

  const secretChanges = createSubject();
  const served = await openServedTls({
    open: (onServe) =>
      openClusterCertificates({
        client,
        namespace,
        certDirectory: options.certDirectory,
        names: [serverName(service)],
        trust: webhooks.trust,
        caOverlapMs: options.caOverlapMs,
        onServe,
        onChange: secretChanges.next,
        log,
      }),
    clientCa: options.clientCa,
    metrics,
    log,
  });
  starting.defer(served.stop);
  const { keeper, secret, tls } = served;
  webhooks.changes.subscribe(keeper.recheck);
  present.certificates = keeper;

  const recording = recordRequests({ events, creations, decisions });
  const admission = await startAdmission({
    listeners: options,
    tls,
    policies() {
      // With half of them, requests would pass that policies restrict: failurePolicy decides instead.
      if (!policies.isSynced()) throw new Error('the policies have not been read yet');
      return policies.snapshot().compiled;
    },
    warnOnApply: policyWarnings({
      client,
      service,
      clusterState: () => present.work?.clusterState,
      policies: policies.snapshot,
      isComplete: () => policies.isComplete('TaintPolicy'),
      log,
    }),
    onJudged: recording.onJudged,
    onCreation: recording.onCreation,
    metrics,
    log,
  });
  starting.defer(admission.stop);

  const election = electLeader({
    client,
    namespace,
    name: OWN_LEASE,
    identity: newIdentity(replica),
    log,
    lead,
    onChange: () => metrics.leading(present.election?.isLeader() ?? false),
  });
  present.election = election;
  const ownCa = addOwnCa({ client, service, webhooks, certificates: keeper, isLeader: election.isLeader, log });
  starting.defer(ownCa.stop);

  const running = starting.move();
  return {
    url: admission.url,
    adminUrl: admin.url,
    async stop() {
      present.stopping = true;
      admission.drain();
      // Until the endpoints no longer contain this replica, requests arrive.
      await Promise.all([election.stop(), pause(options.shutdownDelayMs)]);
      await running.disposeAsync();
      client.close();
    },
  };

  function pageSources(): PageSources {
    return {
      now: client.now,
      replica,
      mode: 'cluster',
      audit,
      leader: () => leaderOf(present.election),
      checks,
      certificate: () => present.certificates && certificateState(present.certificates, client.now()),
      webhooks: () => webhookStates(webhooks, present.certificates?.current().ca),
      policies: () => clusterPolicyStates(policies.objects(), audit),
      cluster: () =>
        present.work && { clusterState: present.work.clusterState, compiled: policies.snapshot().compiled },
      objects: {
        read: (path) => client.request('GET', path),
        policies: policies.objects,
      },
    };
  }

  async function lead(leadership: Leadership): Promise<void> {
    const { signal } = leadership;
    const ended = once(signal, 'abort');
    await Promise.race([ended, policies.synced]);
    if (signal.aborted) return;
    const work = startLeaderWork({
      signal,
      client: leaderClient(client, leadership),
      namespace,
      pod: replica,
      service,
      audit,
      policies,
      webhooks,
      certificates: { current: keeper.current, changes: anyOf(tls.certificateChanges, secretChanges) },
      secret,
      caOverlapMs: options.caOverlapMs,
      webhookTimeoutSeconds: options.webhookTimeoutSeconds,
      defaultPolicies: options.defaultPolicies,
      ownerClusterRole: options.ownerClusterRole,
      giveWay(toDrainOf) {
        present.drained = toDrainOf;
      },
      recordEvent: events.record,
      metrics,
      log,
    });
    present.work = work;
    await ended;
    await work.stop();
    delete present.work;
  }
}

/** The current state, for the readers of a replica. */
interface Present extends ReplicaState {
  certificates?: CertificateKeeper;
  election?: LeaderElection;
  /** While this replica leads. */
  work?: LeaderWork;
  drained?: string | undefined;
  stopping: boolean;
}

/** The leader, as far as this replica knows. */
function leaderOf(election: LeaderElection | undefined): Leader {
  const identity = election?.leader();
  return { isThis: election?.isLeader() ?? false, ...(identity === undefined ? {} : { name: replicaOf(identity) }) };
}
