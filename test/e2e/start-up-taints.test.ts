import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MERGE_PATCH, STRATEGIC_MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer } from '../control-plane/users.ts';
import { createNodes, createTaintPolicy, establish, waitForRecord, waitForTaints } from './drift.ts';
import { type Installation, install } from './installation.ts';
import { attempt, GPU, path, type Taint, taintsOf } from './nodes.ts';

const GPU_TEXT = 'dedicated=gpu:NoSchedule';
/** No list has it. */
const STARTING: Taint = { key: 'boot.example.com/preparing', value: 'yes', effect: 'NoExecute' };

describeWithControlPlane('a taint that an operator sets while a node starts, under a pattern', {}, (cp) => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a']);
    for (const mode of ['Deny', 'Restore']) {
      const spec = { mode, taints: [{ key: '*', restrict: ['Removal'] }] };
      await createTaintPolicy(cp(), mode.toLowerCase(), spec);
    }
    await installation.proxy.waitForReady('a');
  });
  afterAll(() => installation?.stop());

  const setTaints = (name: string, taints: readonly Taint[]) =>
    attempt(cp(), developer, 'PATCH', path(name), { spec: { taints } }, MERGE_PATCH);

  async function setReady(name: string): Promise<void> {
    const body = { status: { conditions: [{ type: 'Ready', status: 'True', reason: 'Test' }] } };
    expect(await attempt(cp(), admin, 'PATCH', `${path(name)}/status`, body, STRATEGIC_MERGE_PATCH)).toMatchObject({
      passed: true,
      error: '',
    });
  }

  describe.each(['deny', 'restore'])('in mode %s', (pool) => {
    const ready = `${pool}-ready`;
    const unready = `${pool}-unready`;

    beforeAll(async () => {
      await createNodes(cp(), [ready, unready], pool, [GPU, STARTING]);
      await setReady(ready);
    });

    it('is removed by its operator and stays removed: the node becomes usable', async () => {
      expect(await setTaints(ready, [GPU])).toMatchObject({ passed: true, warnings: [] });
      expect(await taintsOf(cp(), ready)).toEqual([GPU_TEXT]);
    });

    it('the other one is kept once it is established', async () => {
      await establish(cp(), ready, GPU);
      // The API server may not ask about the policy yet.
      const isHeld = async () => {
        const patch = { spec: { taints: [] } };
        const tried = await attempt(cp(), developer, 'PATCH', `${path(ready)}?dryRun=All`, patch, MERGE_PATCH);
        return !tried.passed || tried.warnings.length > 0;
      };
      await expect.poll(isHeld, { timeout: 30_000 }).toBe(true);
      const removed = await setTaints(ready, []);
      expect(removed.passed ? removed.warnings : removed.error).toEqual(
        pool === 'restore'
          ? ['TaintPolicy restore restored taint dedicated=gpu:NoSchedule']
          : expect.stringContaining('removing taint dedicated=gpu:NoSchedule is not allowed (TaintPolicy "deny"'),
      );
      await waitForTaints(cp(), ready, GPU_TEXT);
    });

    it('a node that never was Ready may lose both', async () => {
      await waitForRecord(cp(), unready);
      expect((await setTaints(unready, [])).passed).toBe(true);
      expect(await taintsOf(cp(), unready)).toEqual([]);
    });
  });
});
