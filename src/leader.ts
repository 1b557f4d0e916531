import { setMaxListeners } from 'node:events';
import type { Logger } from 'pino';
import type { CertificateKeeper } from './certs/certificate-keeper.ts';
import type { RegisteredWebhooks } from './cluster/admission-registration/registered-webhooks.ts';
import type { CertificateSecret } from './cluster/certificates/secret-keeper.ts';
import type { ApiClient } from './cluster/client/api-client.ts';
import type { ServiceRef } from './cluster/installation/service-ref.ts';
import type { ClusterPolicies } from './cluster/policies/policies.ts';
import { startBackstop } from './controllers/backstop/backstop-controller.ts';
import { startCertificateRotation } from './controllers/certificates/certificate-rotation.ts';
import type { ClusterMetrics } from './controllers/cluster-metrics.ts';
import { type ClusterState, clusterStateOf } from './controllers/cluster-state.ts';
import { watchCluster } from './controllers/cluster-watches.ts';
import type { Controller, Run } from './controllers/controller.ts';
import { startDaemonSetPatching } from './controllers/daemon-sets/daemon-set-patching.ts';
import { startDefaultPolicies } from './controllers/installation/default-policies.ts';
import { startDrainRelease } from './controllers/installation/drain-release.ts';
import { startReplicaSpread } from './controllers/installation/replica-spread.ts';
import { startRightsCheck } from './controllers/installation/rights-check.ts';
import { startRoleOwnership } from './controllers/installation/role-ownership.ts';
import { startPoolReview } from './controllers/node-pools/pool-review.ts';
import { startNodeRepair } from './controllers/nodes/node-repair.ts';
import { startPodRecovery } from './controllers/recovery/pod-recovery.ts';
import { startRemainingStartupTaints } from './controllers/remaining-startup-taints/remaining-startup-taints.ts';
import { createReports } from './controllers/reports.ts';
import { startPolicyStatus } from './controllers/status/status-controller.ts';
import { startWebhookRegistration } from './controllers/webhooks/webhook-registration.ts';
import type { RecordedEvent } from './policy/reporting/recorded-event.ts';
import { messageOf } from './runtime/error-message.ts';
import type { Source } from './runtime/source.ts';

export interface LeaderOptions {
  /** Aborted when this process no longer leads: pending waits end then. */
  readonly signal: AbortSignal;
  /** Writes only while this process leads. */
  readonly client: ApiClient;
  readonly namespace: string;
  /** The name of this replica's pod. */
  readonly pod: string;
  readonly service: ServiceRef;
  /** Every policy is taken to be in mode Audit: nothing is written for it. */
  readonly audit: boolean;
  readonly policies: ClusterPolicies;
  readonly webhooks: RegisteredWebhooks;
  readonly certificates: Pick<CertificateKeeper, 'current'> & { readonly changes: Source };
  /** The Secret of the certificates, which taintkeeper renews. Undefined where they are in files. */
  readonly secret: CertificateSecret | undefined;
  /** How long an earlier CA stays trusted after the certificates were replaced, in milliseconds. */
  readonly caOverlapMs: number;
  /** How long the API server waits for an answer of the webhooks. */
  readonly webhookTimeoutSeconds: number;
  /** Name of the ConfigMap with default policies, if there is one. */
  readonly defaultPolicies: string | undefined;
  /** Name of the ClusterRole that owns what taintkeeper registers, if any. */
  readonly ownerClusterRole: string | undefined;
  /** Makes this replica not ready while the drain of that node waits for its eviction; undefined: ready again. */
  readonly giveWay: (toDrainOf: string | undefined) => void;
  readonly recordEvent: (event: RecordedEvent) => void;
  readonly metrics: ClusterMetrics;
  readonly log: Logger;
}

export interface LeaderWork {
  readonly clusterState: ClusterState;
  /** Stops all controllers. Resolves when the runs in progress have ended. */
  stop(): Promise<void>;
}

/**
 * Starts all controllers. None of them begins anything once `options.signal` is aborted.
 * @throws what a controller throws that cannot be started; those before it are stopped
 */
export function startLeaderWork(options: LeaderOptions): LeaderWork {
  const { metrics, log } = options;
  const stopping = new AbortController();
  const signal = AbortSignal.any([options.signal, stopping.signal]);
  // Every controller listens, and every subscription of it.
  setMaxListeners(0, signal);
  const running = new AsyncDisposableStack();
  running.defer(metrics.leadershipEnded);
  const stop = () => {
    // First: no work begins after it, and errors of work in progress are not failures.
    stopping.abort();
    return running.disposeAsync();
  };
  try {
    return { clusterState: startControllers({ signal, metrics, log }, options, started), stop };
  } catch (error) {
    stop().catch((fault) => log.error(`what was started did not end: ${messageOf(fault)}`));
    throw error;
  }

  function started<T extends Controller>(controller: T): T {
    running.defer(controller.stop);
    return controller;
  }
}

/**
 * A controller that another one needs is started before it.
 * @param started registers what it gets to be stopped, in reverse order, and returns it
 */
function startControllers(
  run: Run,
  options: LeaderOptions,
  started: <T extends Controller>(controller: T) => T,
): ClusterState {
  const { client, namespace, pod, service, audit, ownerClusterRole } = options;
  const { policies, webhooks, certificates, secret, caOverlapMs, recordEvent } = options;
  const { nodes, daemonSets } = started(watchCluster(run, client));
  const reports = createReports();

  const rights = started(startRightsCheck(run, { client, policies, audit, reports }));
  started(
    startWebhookRegistration(run, {
      client,
      service,
      pod,
      ownerClusterRole,
      policies,
      webhooks,
      certificates,
      secret,
      caOverlapMs,
      webhookTimeoutSeconds: options.webhookTimeoutSeconds,
      audit,
      reports,
    }),
  );
  const repair = started(
    startNodeRepair(run, {
      client,
      service,
      nodes,
      daemonSets,
      policies,
      rights,
      recordEvent,
      reports,
    }),
  );
  started(startRemainingStartupTaints(run, { client, nodes, policies, recordEvent }));
  const { patchedBy } = started(
    startDaemonSetPatching(run, {
      client,
      namespace,
      nodes,
      daemonSets,
      policies,
      rights,
      recordEvent,
      reports,
    }),
  );
  const { stuckPods } = started(
    startPodRecovery(run, { client, namespace, nodes, daemonSets, policies, rights, recordEvent, reports }),
  );
  started(startPoolReview(run, { client, policies, nodes, rights, recordEvent, reports }));
  started(startBackstop(run, { client, namespace, ownerClusterRole, policies, rights, audit, reports }));

  started(
    startPolicyStatus(run, {
      client,
      namespace,
      nodes,
      daemonSets,
      policies,
      audit,
      reports,
      patchedBy,
      stuckPods,
    }),
  );

  if (secret) {
    started(startCertificateRotation(run, { client, secret, overlapMs: caOverlapMs, webhooks, certificates }));
  }
  started(startReplicaSpread(run, { client, service, pod, nodes }));
  started(startDrainRelease(run, { client, service, pod, nodes, giveWay: options.giveWay }));
  if (options.defaultPolicies) {
    started(startDefaultPolicies(run, { client, namespace, configMap: options.defaultPolicies }));
  }
  if (ownerClusterRole) started(startRoleOwnership(run, { client, clusterRole: ownerClusterRole, namespace }));

  return clusterStateOf({
    nodes,
    daemonSets,
    policies,
    isInConflict: repair.isInConflict,
    startupOn: repair.startupOn,
    changes: repair.changes,
    signal: run.signal,
  });
}
