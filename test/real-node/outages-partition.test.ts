import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { NAMESPACE } from '../../scripts/chart.ts';
import { readAuditLog } from '../control-plane/audit-log.ts';
import { succeeded } from '../control-plane/rest.ts';
import { admin, serviceAccount } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createWorkspace, type Workspace } from '../control-plane/workspace.ts';
import { skipFor } from '../skip-for.ts';
import { type HealthWatch, leadFrom, watchHealth } from './measure/health.ts';
import { obstacleToRealNode } from './obstacle.ts';
import { installProduct, kubectl } from './product.ts';
import { type RealCluster, startRealCluster } from './real-cluster.ts';
import type { RealNode } from './real-node.ts';

/** A Lease of 15 s, and what another replica takes to look at all nodes. */
const REPAIRED_TIMEOUT_MS = 60_000;
/** What was on its way comes when TCP sends it again: after as long as the partition lasted, at most. */
const LATE_MS = 40_000;
const ACCOUNT = serviceAccount(NAMESPACE, 'taintkeeper').name;
const AUDIT_POLICY = join(import.meta.dirname, '..', 'control-plane', 'audit-policy.yaml');

/** Requires a taint of the nodes with the label `pool=NAME`. */
const fenced = (name: string) => ({
  apiVersion: 'taintkeeper.dev/v1alpha1',
  kind: 'TaintPolicy',
  metadata: { name },
  spec: {
    mode: 'Restore',
    nodeSelector: { matchLabels: { pool: name } },
    taints: [{ key: 'dedicated', value: 'fenced', effect: 'NoSchedule', ensure: 'Always' }],
  },
});

vi.setConfig({ testTimeout: 300_000 });

describe('a leader that the API server is cut off from', skipFor(obstacleToRealNode()), () => {
  let workspace: Workspace;
  let cluster: RealCluster;
  let health: HealthWatch;
  beforeAll(async () => {
    workspace = createWorkspace('partition');
    cluster = await startRealCluster({
      nodes: 2,
      apiServerArgs: [`--audit-log-path=${workspace.path('audit.log')}`, `--audit-policy-file=${AUDIT_POLICY}`],
    });
    await installProduct(cluster);
    health = watchHealth(cluster);
  });
  afterAll(async () => {
    await health?.stop();
    await cluster?.stop();
    workspace?.remove();
  });

  it.each<{ what: string; name: string; cut: (node: RealNode) => Promise<() => Promise<void>> }>([
    { what: 'it hears nothing', name: 'deaf', cut: (node) => node.losePackets('in') },
    { what: 'what it says is lost', name: 'dumb', cut: (node) => node.losePackets('out') },
    {
      what: 'both',
      name: 'alone',
      cut: async (node) => {
        await node.setLink('down');
        return () => node.setLink('up');
      },
    },
  ])('what there is to do is done once, by the other one: $what', async ({ name, cut }) => {
    await health.rightFor(2_000);
    await leadFrom(cluster, 'n2');
    // A Node without a machine.
    const body = { metadata: { name, labels: { pool: name } } };
    await succeeded(cluster.request(admin, 'POST', '/api/v1/nodes', { body }));
    const end = await cut(cluster.nodes[1] as RealNode);
    // No request of the Node is judged: only a leader can set the taint.
    await kubectl(cluster, ['apply', '-f', '-'], JSON.stringify(fenced(name)));
    await waitUntil(async () => (repairs(name).length > 0 ? true : undefined), {
      timeoutMs: REPAIRED_TIMEOUT_MS,
      otherwise: () => 'no replica gave the node its taint',
    });
    await end();
    await cluster.nodeReady('n2');
    await health.rightFor(LATE_MS);
    const answers = repairs(name);
    expect(answers.filter((status) => status === 200)).toHaveLength(1);
    // The old leader's requests were delayed, and have an old resourceVersion: they get a conflict.
    expect(answers.filter((status) => status !== 200 && status !== 409)).toEqual([]);
    await kubectl(cluster, ['delete', 'taintpolicy', name]);
    await kubectl(cluster, ['delete', 'node', name]);
  });

  /** How its own writes of that node's taints were answered. */
  function repairs(name: string): (number | undefined)[] {
    return readAuditLog(workspace.path('audit.log'))
      .filter(
        ({ user, objectRef }) =>
          user.username === ACCOUNT && objectRef?.resource === 'nodes' && objectRef.name === name,
      )
      .filter(({ requestObject }) => JSON.stringify(requestObject ?? '').includes('dedicated'))
      .map(({ responseStatus }) => responseStatus?.code);
  }
});
