import { connect } from '../../src/cluster/client/api-client.ts';
import { watchCluster } from '../../src/controllers/cluster-watches.ts';
import { startPodRecovery } from '../../src/controllers/recovery/pod-recovery.ts';
import { createReports } from '../../src/controllers/reports.ts';
import { compilePolicies } from '../../src/policy/policy-set.ts';
import { RECOVERY_TIMINGS, type RecoveryTimings } from '../../src/policy/recovery-policy.ts';
import { createMetrics } from '../../src/replica/metrics.ts';
import { createSubject } from '../../src/runtime/source.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { User } from '../control-plane/users.ts';
import { captureLog } from '../unit/captured-log.ts';
import { type PolicyObject, readPolicy } from './policy-objects.ts';

/** What one of the leaders knows. */
export interface Recovery {
  /** The pods that have been Failed where they could run, by their names. */
  seen(): readonly string[];
  /** Those that still are, and could be freed. */
  stuck(): readonly string[];
  /** The reasons of the Events that it recorded about DaemonSets. */
  reasons(): readonly string[];
  stop(): Promise<void>;
}

/**
 * The recovery of pods by itself, as the user, in this process: two of them are two leaders that know nothing of each other.
 * @param timings in place of the product's, which would take longer than a test should
 */
export async function startRecovery(
  cp: Pick<ControlPlane, 'kubeconfigFile'>,
  user: User,
  policies: readonly PolicyObject[],
  timings: Partial<RecoveryTimings>,
): Promise<Recovery> {
  const client = await connect({ kubeconfig: await cp.kubeconfigFile(user), userAgent: 'recovery' });
  const { log } = captureLog();
  const metrics = createMetrics('test');
  const stopping = new AbortController();
  const run = { signal: stopping.signal, metrics, log };
  const cluster = watchCluster(run, client);
  await Promise.all([cluster.nodes.synced, cluster.daemonSets.synced]);
  const compiled = compilePolicies(policies.map(readPolicy));
  const seen = new Set<string>();
  const reasons: string[] = [];
  const reports = createReports();
  const stuck = () => recovery.stuckPods().map(({ name }) => name);
  reports.changes.subscribe(() => {
    for (const name of stuck()) seen.add(name);
  });
  const recovery = startPodRecovery(run, {
    client,
    nodes: cluster.nodes,
    daemonSets: cluster.daemonSets,
    namespace: 'taintkeeper',
    policies: { snapshot: () => ({ policies: [], compiled, versions: new Set() }), changes: createSubject() },
    rights: { permits: () => true, changes: createSubject() },
    recordEvent({ reason, regarding }) {
      if (regarding.kind === 'DaemonSet') reasons.push(reason);
    },
    reports,
    timings: { ...RECOVERY_TIMINGS, ...timings },
  });
  return {
    seen: () => [...seen],
    stuck,
    reasons: () => [...reasons],
    async stop() {
      stopping.abort();
      await Promise.all([recovery.stop(), cluster.stop()]);
      client.close();
    },
  };
}
