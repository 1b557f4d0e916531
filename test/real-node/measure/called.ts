import { waitUntil } from '../../control-plane/wait-until.ts';
import { webhookConnections } from '../backends.ts';
import { productPods } from '../product.ts';
import type { RealCluster } from '../real-cluster.ts';

const TIMEOUT_MS = 30_000;
/** Each webhook configuration has connections of its own, and a request of either kind comes before this has passed. */
const STEADY_MS = 2_000;

/**
 * Has the API server call the replica on this node, and no other, without harm to either: its connections to the other one are reset
 * until it has none. There is to be one on each of two nodes, and a load that calls them.
 */
export async function callOnly(cluster: RealCluster, node: string): Promise<void> {
  const [first] = cluster.nodes;
  const other = (await productPods(cluster)).find(({ spec }) => spec.nodeName !== node);
  const reject = ['-j', 'REJECT', '--reject-with', 'tcp-reset'];
  const rule = ['OUTPUT', '-p', 'tcp', '--dport', '8443', '-d', `${other?.status.podIP}`, ...reject];
  await first?.run(['iptables', '-w', '-I', ...rule]);
  try {
    let steadySince = performance.now();
    await waitUntil(
      async () => {
        const connections = await webhookConnections(cluster);
        if (!connections.has(node) || connections.size > 1) steadySince = performance.now();
        return performance.now() - steadySince > STEADY_MS ? true : undefined;
      },
      { timeoutMs: TIMEOUT_MS, otherwise: () => `the API server does not call the replica on ${node} alone` },
    );
  } finally {
    await first?.run(['iptables', '-w', '-D', ...rule]);
  }
}
