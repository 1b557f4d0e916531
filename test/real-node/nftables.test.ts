import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { skipFor } from '../skip-for.ts';
import { obstacleToRealNode } from './obstacle.ts';
import { installProduct, kubectl } from './product.ts';
import { type RealCluster, startRealCluster } from './real-cluster.ts';

const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane';

describe('on real nodes whose kube-proxy writes nftables', skipFor(obstacleToRealNode()), () => {
  let cluster: RealCluster;
  beforeAll(async () => {
    cluster = await startRealCluster({ nodes: 2, proxyMode: 'nftables' });
    await kubectl(cluster, ['taint', 'node', 'n1', `${CONTROL_PLANE}:NoSchedule`]);
    await installProduct(cluster);
  });
  afterAll(() => cluster?.stop());

  it('the API server reaches the webhook by the Service, and refuses kubectl taint', async () => {
    const { code, stderr } = await cluster.kubectl(['taint', 'node', 'n1', `${CONTROL_PLANE}:NoSchedule-`]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('removing taint') });
    expect(await cluster.nodes[0]?.run(['nft', 'list', 'table', 'ip', 'kube-proxy'])).toContain(
      'taintkeeper/taintkeeper',
    );
  });
});
