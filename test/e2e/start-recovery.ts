import { connect } from '../../src/cluster/client/api-client.ts';
import { watchResource } from '../../src/cluster/watch/watch-cache.ts';
import { projectDaemonSet, projectNode } from '../../src/controllers/cluster-objects.ts';
import { startPodRecovery } from '../../src/controllers/pod-recovery.ts';
import { compilePolicies } from '../../src/policy/policy-set.ts';
import { createMetrics } from '../../src/server/metrics.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { User } from '../control-plane/users.ts';
import { captureLog } from '../unit/captured-log.ts';
import { type PolicyObject, readPolicy } from './policy-objects.ts';

/** The recovery of pods by itself, as the user, in this process: two of them are two leaders that know nothing of each other. */
export async function startRecovery(
  cp: ControlPlane,
  user: User,
  policies: readonly PolicyObject[],
): Promise<{ stop(): Promise<void> }> {
  const client = await connect({ kubeconfig: await cp.kubeconfigFile(user), userAgent: 'recovery' });
  const { log } = captureLog();
  const nodes = watchResource({ client, path: '/api/v1/nodes', project: projectNode, log });
  const daemonSets = watchResource({ client, path: '/apis/apps/v1/daemonsets', project: projectDaemonSet, log });
  await Promise.all([nodes.synced, daemonSets.synced]);
  const compiled = compilePolicies(policies.map(readPolicy));
  const recovery = startPodRecovery({
    client,
    namespace: 'taintkeeper',
    nodes,
    daemonSets,
    compiled: () => compiled,
    record: () => {},
    metrics: createMetrics('test'),
    onFindings: () => {},
    log,
  });
  return {
    async stop() {
      await Promise.all([recovery.stop(), nodes.stop(), daemonSets.stop()]);
      client.close();
    },
  };
}
