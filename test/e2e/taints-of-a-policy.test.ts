import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { createNodes, createTaintPolicy, waitForTaints } from './drift.ts';
import { guideLines } from './guide-commands.ts';
import { type Installation, install } from './installation.ts';
import { taintsOf } from './nodes.ts';
import { pasteRemedy } from './paste-remedy.ts';

const NAME = 'gpu-pool';
const POOL = 'gpu';
const SPEC = {
  mode: 'Deny',
  nodeSelector: { matchLabels: { pool: POOL } },
  taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' }],
};
const REQUIRED = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const TAINT = 'dedicated=gpu:NoSchedule';

describeWithControlPlane('the taints that a policy required', {}, (cp) => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a']);
    await createTaintPolicy(cp(), NAME, SPEC);
    await createNodes(cp(), ['one', 'two'], POOL);
    await createNodes(cp(), ['elsewhere'], 'cpu', [REQUIRED]);
    for (const name of ['one', 'two']) await waitForTaints(cp(), name, TAINT);
  });
  afterAll(() => installation.stop());

  it("are removed by the guide's commands, from the nodes of the policy alone", async () => {
    const [deletion, list, removal, ...more] = guideLines('repairs.md', 'Remove the taints of a policy');
    expect(more).toEqual([]);
    await pasteRemedy(cp(), deletion);
    expect(await taintsOf(cp(), 'one'), 'the end of the policy removes nothing').toEqual([TAINT]);
    expect(await pasteRemedy(cp(), list)).toMatch(/^one +\S*\bdedicated\ntwo +\S*\bdedicated$/m);
    // The webhook still answers by the policy for a moment.
    await expect
      .poll(() => pasteRemedy(cp(), removal).catch(() => 'refused'), { timeout: 30_000 })
      .toMatch(/untainted/);
    for (const name of ['one', 'two']) expect(await taintsOf(cp(), name)).toEqual([]);
    expect(await taintsOf(cp(), 'elsewhere')).toEqual([TAINT]);
  });

  it('are removed from the others if one node does not have them', async () => {
    await createNodes(cp(), ['three'], POOL, [REQUIRED]);
    const [, , removal = ''] = guideLines('repairs.md', 'Remove the taints of a policy');
    await expect(pasteRemedy(cp(), removal)).rejects.toThrow(/not found/);
    expect(await taintsOf(cp(), 'three')).toEqual([]);
  });
});
