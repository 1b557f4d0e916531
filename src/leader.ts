import { setMaxListeners } from 'node:events';
import { messageOf } from './cluster/client/api-client.ts';
import { startBackstop } from './controllers/backstop/backstop-controller.ts';
import { startCertificateRotation } from './controllers/certificates/certificate-rotation.ts';
import type { Controller, LeaderContext, LeaderOptions } from './controllers/context.ts';
import { startDaemonSetPatching } from './controllers/daemon-sets/daemon-set-patching.ts';
import { startDefaultPolicies } from './controllers/installation/default-policies.ts';
import { startDrainRelease } from './controllers/installation/drain-release.ts';
import { type Permissions, permissions, startPermissions } from './controllers/installation/permissions.ts';
import { startReplicaSpread } from './controllers/installation/replica-spread.ts';
import { startRoleOwnership } from './controllers/installation/role-ownership.ts';
import { startMisplacedPods } from './controllers/nodes/misplaced-pods.ts';
import { startPoolReview } from './controllers/nodes/node-pools.ts';
import { startNodeRepair } from './controllers/nodes/node-repair.ts';
import { startStartupTaints } from './controllers/nodes/startup-taints.ts';
import { startPodRecovery } from './controllers/recovery/pod-recovery.ts';
import { createReports } from './controllers/reports.ts';
import { type ClusterState, clusterStateOf, watchCluster } from './controllers/sources.ts';
import { startPolicyStatus } from './controllers/status/policy-status.ts';
import { startWebhookRegistration } from './controllers/webhooks/webhook-registration.ts';

/** What must be done once in a cluster, by the leader. Where several keep a policy from being followed, its status names the first. */
const CONTROLLERS: readonly ((context: LeaderContext & { rights: Permissions }) => Controller | undefined)[] = [
  startPermissions,
  startWebhookRegistration,
  startNodeRepair,
  startMisplacedPods,
  startStartupTaints,
  startDaemonSetPatching,
  startPodRecovery,
  startPoolReview,
  startBackstop,
  startPolicyStatus,
  startCertificateRotation,
  startReplicaSpread,
  startDrainRelease,
  startDefaultPolicies,
  startRoleOwnership,
];

export interface LeaderWork {
  readonly clusterState: ClusterState;
  /** Ends all of it, once the runs in progress have. */
  stop(): Promise<void>;
}

/**
 * Starts all controllers. None of them begins anything once `options.signal` is aborted.
 * @throws what a controller throws that cannot be started; those before it are ended
 */
export function startLeaderWork(options: LeaderOptions): LeaderWork {
  const { client, policies, audit, metrics, log } = options;
  const stopping = new AbortController();
  const signal = AbortSignal.any([options.signal, stopping.signal]);
  // Every controller listens, and every subscription of it.
  setMaxListeners(0, signal);
  const running = new AsyncDisposableStack();
  running.defer(metrics.leadershipEnded);

  const cluster = watchCluster({ client, metrics, log, signal });
  running.defer(cluster.stop);
  const rights = permissions({ client, objects: policies.objects, audit, log });
  const context = { ...options, ...cluster, signal, rights, reports: createReports() };
  const clusterState = clusterStateOf(context);
  const stop = () => {
    // First, so that nothing begins any more, and what fails now is no failure.
    stopping.abort();
    return running.disposeAsync();
  };
  try {
    for (const start of CONTROLLERS) {
      const controller = start(context);
      if (controller) running.defer(controller.stop);
    }
  } catch (error) {
    stop().catch((fault) => log.error(`what was started did not end: ${messageOf(fault)}`));
    throw error;
  }
  return { clusterState, stop };
}
