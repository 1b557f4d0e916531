import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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
});
