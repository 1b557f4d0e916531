import { connect } from '../../src/cluster/client/api-client.ts';
import { watchCluster } from '../../src/controllers/cluster-watches.ts';
import type { NodeRepair } from '../../src/controllers/nodes/node-repair.ts';
import { startNodeRepair } from '../../src/controllers/nodes/node-repair.ts';
import { createReports } from '../../src/controllers/reports.ts';
import { compilePolicies, type PolicySet } from '../../src/policy/policy-set.ts';
import { createMetrics } from '../../src/replica/metrics.ts';
import { createSubject } from '../../src/runtime/source.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { User } from '../control-plane/users.ts';
import { captureLog } from '../unit/captured-log.ts';
import { type PolicyObject, readPolicy } from './policy-objects.ts';

/** The part of a leader that writes nodes. */
export interface LeaderOfNodes extends Pick<NodeRepair, 'isInConflict'> {
  /** The Events that it recorded, as `NODE REASON`. */
  events(): readonly string[];
  /** Its watch of the policies shows these. */
  setPolicies(policies: readonly PolicyObject[]): void;
  stop(): Promise<void>;
}

/**
 * The repair of nodes by itself, as the user, in this process: without a Lease, so that several lead at once, and that a leader whose clock jumps goes
 * on. No webhook is registered.
 */
export async function startLeaderOfNodes(
  cp: Pick<ControlPlane, 'kubeconfigFile'>,
  user: User,
  policies: readonly PolicyObject[],
): Promise<LeaderOfNodes> {
  const client = await connect({ kubeconfig: await cp.kubeconfigFile(user), userAgent: user.name });
  const stopping = new AbortController();
  const run = { signal: stopping.signal, metrics: createMetrics('test'), log: captureLog().log };
  const cluster = watchCluster(run, client);
  await Promise.all([cluster.nodes.synced, cluster.daemonSets.synced]);
  const changes = createSubject();
  const events: string[] = [];
  let compiled: PolicySet = compilePolicies(policies.map(readPolicy));
  const repair = startNodeRepair(run, {
    client,
    service: { namespace: 'taintkeeper', name: 'taintkeeper', port: 443 },
    nodes: cluster.nodes,
    daemonSets: cluster.daemonSets,
    policies: {
      snapshot: () => ({ policies: [], compiled, versions: new Set() }),
      isComplete: () => true,
      changes,
    },
    rights: { permits: () => true, changes: createSubject() },
    recordEvent: ({ regarding, reason }) => events.push(`${regarding.name} ${reason}`),
    reports: createReports(),
  });
  return {
    isInConflict: repair.isInConflict,
    events: () => [...events],
    setPolicies(next) {
      compiled = compilePolicies(next.map(readPolicy));
      changes.next();
    },
    async stop() {
      stopping.abort();
      await Promise.all([repair.stop(), cluster.nodes.synced, cluster.daemonSets.synced]);
      await cluster.stop();
      client.close();
    },
  };
}
