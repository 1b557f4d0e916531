import { connect } from '../../src/cluster/client/api-client.ts';
import { watchResource } from '../../src/cluster/watch/watch-cache.ts';
import { startPodRecovery } from '../../src/controllers/recovery/pod-recovery.ts';
import { projectDaemonSet, projectNode } from '../../src/controllers/sources.ts';
import { compilePolicies } from '../../src/policy/policy-set.ts';
import { createMetrics } from '../../src/server/metrics.ts';
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
  stop(): Promise<void>;
}

/** The recovery of pods by itself, as the user, in this process: two of them are two leaders that know nothing of each other. */
export async function startRecovery(
  cp: Pick<ControlPlane, 'kubeconfigFile'>,
  user: User,
  policies: readonly PolicyObject[],
): Promise<Recovery> {
  const client = await connect({ kubeconfig: await cp.kubeconfigFile(user), userAgent: 'recovery' });
  const { log } = captureLog();
  const nodes = watchResource({ client, path: '/api/v1/nodes', project: projectNode, log });
  const daemonSets = watchResource({ client, path: '/apis/apps/v1/daemonsets', project: projectDaemonSet, log });
  await Promise.all([nodes.synced, daemonSets.synced]);
  const compiled = compilePolicies(policies.map(readPolicy));
  const seen = new Set<string>();
  const stuck = () => recovery.stuckPods().map(({ name }) => name);
  const recovery = startPodRecovery({
    client,
    namespace: 'taintkeeper',
    nodes,
    daemonSets,
    compiled: () => compiled,
    permits: () => true,
    record: () => {},
    metrics: createMetrics('test'),
    onFindings() {
      for (const name of stuck()) seen.add(name);
    },
    log,
  });
  return {
    seen: () => [...seen],
    stuck,
    async stop() {
      await Promise.all([recovery.stop(), nodes.stop(), daemonSets.stop()]);
      client.close();
    },
  };
}
