import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { skipFor } from '../skip-for.ts';
import { obstacleToRealNode } from './obstacle.ts';
import { type RebootingNode, startRebootingNode } from './reboots.ts';

describe('a real node that reboots, with a taint of afterReboot: SetAgain', skipFor(obstacleToRealNode()), () => {
  let node: RebootingNode;
  beforeAll(async () => {
    node = await startRebootingNode();
  }, 600_000);
  afterAll(() => node?.stop());

  it('gets no other pod from the write of the leader until the agent of this boot is Ready', async () => {
    const reboot = await node.reboot();
    // The measurement of measure/results.md.
    process.stderr.write(`${JSON.stringify(reboot)}\n`);
    expect(reboot.boundWhileTainted).toEqual([]);
    expect(reboot.agentStartedAt).toBeGreaterThan(reboot.powerOnAt);
    expect(reboot.removedAt - reboot.setAt).toBeGreaterThanOrEqual(29_000);
    expect(reboot.agentReadyAt).toBeLessThanOrEqual(reboot.removedAt);
  }, 600_000);
});
