import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { skipFor } from '../skip-for.ts';
import type { KilledLeader } from './measure/health.ts';
import { obstacleToRealNode } from './obstacle.ts';
import { type Reboot, type RebootingNode, startRebootingNode } from './reboots.ts';

describe('a real node that reboots, with a taint of afterReboot: SetAgain', skipFor(obstacleToRealNode()), () => {
  let node: RebootingNode;
  beforeAll(async () => {
    node = await startRebootingNode();
  }, 600_000);
  afterAll(() => node?.stop());

  /** No other pod was bound from the write of the leader until the agent of this boot was Ready. */
  function expectKept(reboot: Reboot): void {
    expect(reboot.boundWhileTainted).toEqual([]);
    expect(reboot.agentStartedAt).toBeGreaterThan(reboot.powerOnAt);
    expect(reboot.removedAt - reboot.setAt).toBeGreaterThanOrEqual(29_000);
    expect(reboot.agentReadyAt).toBeLessThanOrEqual(reboot.removedAt);
  }

  it('gets no other pod from the write of the leader until the agent of this boot is Ready', async () => {
    const reboot = await node.reboot();
    // The measurement of measure/results.md.
    process.stderr.write(`${JSON.stringify(reboot)}\n`);
    expectKept(reboot);
  }, 600_000);

  it('is left to the next leader if the leader is killed while the node waits', async () => {
    let killed: KilledLeader | undefined;
    const reboot = await node.reboot(async () => {
      killed = await node.killLeader();
    });
    expectKept(reboot);
    expect(await killed?.isLast()).toBe(false);
  }, 600_000);
});
