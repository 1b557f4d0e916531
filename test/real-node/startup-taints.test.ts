import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitUntil } from '../control-plane/wait-until.ts';
import { skipFor } from '../skip-for.ts';
import { obstacleToRealNode } from './obstacle.ts';
import { isTooEarly, type RegisteringNodes, startRegisteringNodes } from './registrations.ts';

const WORKERS = 2;
/** bench/real-startup-taints.ts has more. */
const TIMES = 3;

describe('real nodes that register again, with a taint of ensure: UntilReady', skipFor(obstacleToRealNode()), () => {
  let nodes: RegisteringNodes;
  beforeAll(async () => {
    nodes = await startRegisteringNodes(WORKERS);
    await nodes.requireTaint();
  }, 300_000);
  afterAll(() => nodes?.stop());

  it('get no other pod before the pod of the DaemonSet is Ready, and then one', async () => {
    const registrations = await nodes.register(TIMES);
    expect(registrations).toHaveLength(WORKERS * TIMES);
    expect(registrations.filter((one) => one.bound === undefined || isTooEarly(one))).toEqual([]);
  }, 600_000);

  it('get none either while no replica leads, and one from the next leader', async () => {
    const before = nodes.registered();
    const registering = nodes.register(1);
    await waitUntil(() => nodes.registered() === before + WORKERS || undefined, {
      timeoutMs: 180_000,
      otherwise: () => `${nodes.registered() - before} of ${WORKERS} nodes have registered`,
    });
    const killed = await nodes.killLeader();
    const registrations = await registering;
    expect(registrations.filter((one) => one.bound === undefined || isTooEarly(one))).toEqual([]);
    expect(await killed.isLast()).toBe(false);
  }, 600_000);
});
