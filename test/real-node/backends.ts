import { NAMESPACE } from '../../scripts/chart.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { dropTaints, productPods, productReady } from './product.ts';
import type { RealCluster } from './real-cluster.ts';

const TIMEOUT_MS = 60_000;

/** How many connections the API server has to the replica on each node, by the node's name. */
export async function webhookConnections(cluster: RealCluster): Promise<ReadonlyMap<string, number>> {
  const { body } = await cluster.request<{ spec: { clusterIP: string } }>(
    admin,
    'GET',
    `/api/v1/namespaces/${NAMESPACE}/services/taintkeeper`,
  );
  const [first] = cluster.nodes;
  const tracked = (await first?.run(['conntrack', '-L', '-p', 'tcp', '-d', body.spec.clusterIP])) ?? '';
  const nodeOf = new Map((await productPods(cluster)).map(({ spec, status }) => [status.podIP, spec.nodeName ?? '']));
  const counts = new Map<string, number>();
  for (const line of tracked.split('\n').filter((line) => line.includes('ESTABLISHED'))) {
    // The second source is who answers.
    const node = nodeOf.get(line.match(/src=\S+/g)?.[1]?.slice('src='.length)) ?? 'nobody';
    counts.set(node, (counts.get(node) ?? 0) + 1);
  }
  return counts;
}

/** Has the API server call the replica on this node, and no other. There is to be one on each of two nodes. */
export async function leadConnectionsTo(cluster: RealCluster, node: string): Promise<void> {
  await waitUntil(
    async () => {
      await dropTaints(cluster, 'n1');
      const connections = await webhookConnections(cluster);
      const others = [...connections.keys()].filter((name) => name !== node);
      if (connections.has(node) && others.length === 0) return true;
      for (const other of cluster.nodes.filter(({ name }) => name !== node)) {
        await other.run(['pkill', '-KILL', '-f', 'taintkeeper.cjs serve']).catch(() => {});
      }
      await dropTaints(cluster, 'n1');
      await productReady(cluster, 2);
      return undefined;
    },
    { timeoutMs: TIMEOUT_MS, otherwise: () => `the API server does not call the replica on ${node}` },
  );
}
