import { NAMESPACE } from '../../scripts/chart.ts';
import { admin } from '../control-plane/users.ts';
import { productPods } from './product.ts';
import type { RealCluster } from './real-cluster.ts';

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
