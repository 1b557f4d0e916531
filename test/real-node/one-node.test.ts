import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { guideCommands } from '../e2e/guide-commands.ts';
import { skipFor } from '../skip-for.ts';
import { obstacleToRealNode } from './obstacle.ts';
import { installProduct, kubectl, productReady } from './product.ts';
import { type RealCluster, startRealCluster } from './real-cluster.ts';

describe('on one real node', skipFor(obstacleToRealNode()), () => {
  let cluster: RealCluster;
  beforeAll(async () => {
    cluster = await startRealCluster();
    await installProduct(cluster);
  });
  afterAll(() => cluster?.stop());

  it('what the guide says for one node lets it be drained, which two replicas hold up', async () => {
    const drain = ['drain', 'n1', '--ignore-daemonsets', '--timeout=10s'];
    const { code, stderr } = await cluster.kubectl(drain);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('disruption budget') });
    await kubectl(cluster, ['uncordon', 'n1']);
    await productReady(cluster, 2);

    const commands = guideCommands('Install', 2).map(({ command }) => command.split(' '));
    expect(commands).toHaveLength(2);
    for (const [, ...args] of commands) await kubectl(cluster, args);
    await productReady(cluster, 1);
    await kubectl(cluster, [...drain.slice(0, -1), '--timeout=25s']);
  });
});
