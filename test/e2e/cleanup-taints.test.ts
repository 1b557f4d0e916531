import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { temporaryDirectory } from '../unit/temporary-directory.ts';
import { createNodes, createTaintPolicy, waitForStatus, waitForTaints } from './drift.ts';
import { type Installation, install } from './installation.ts';
import { taintsOf } from './nodes.ts';
import { pasteRemedy } from './paste-remedy.ts';
import { policyObject } from './policy-objects.ts';
import { POLICIES_PATH } from './policy-resources.ts';
import { runAs } from './run-taintkeeper.ts';

const POOL = 'handover';
const SPEC = {
  mode: 'Restore',
  // Which no policy in mode Audit may have.
  failurePolicy: 'Fail',
  nodeSelector: { matchLabels: { pool: POOL } },
  taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' }],
};
const TAINT = 'dedicated=gpu:NoSchedule';

describeWithControlPlane('the taints that a policy required', {}, (cp) => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a']);
    await createTaintPolicy(cp(), POOL, SPEC);
    await createNodes(cp(), ['one', 'two'], POOL);
    await createNodes(cp(), ['other-value'], POOL, [{ key: 'dedicated', value: 'own', effect: 'NoSchedule' }]);
    await createNodes(cp(), ['elsewhere'], 'cpu', [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }]);
    for (const name of ['one', 'two', 'other-value']) await waitForTaints(cp(), name, TAINT);
  });
  afterAll(() => installation.stop());

  const run = (...args: string[]) => runAs(admin, cp(), ['cleanup', 'taints', ...args]);

  it('are not removed while the policy is enforced', async () => {
    const { code, stdout, stderr } = await run('--policy', POOL, '--yes');
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toBe(
      `taintkeeper: TaintPolicy "${POOL}" is in mode Restore, so its taints would be restored. First: kubectl patch taintpolicy ${POOL} --type merge -p '{"spec":{"mode":"Audit","failurePolicy":null}}'\n`,
    );
    expect(await taintsOf(cp(), 'one')).toEqual([TAINT]);
  });

  it('are shown in mode Audit, and removed with --yes', async () => {
    await pasteRemedy(cp(), (await run('--policy', POOL, '--yes')).stderr.trim());
    await waitForStatus(cp(), POOL, ({ observedGeneration }) => observedGeneration === 2);

    expect(await run('--policy', POOL)).toMatchObject({
      code: 0,
      stdout: [
        'NODE         TAINT                     RESULT',
        `elsewhere    ${TAINT}  kept: the policy does not select the node`,
        `one          ${TAINT}  can be removed`,
        `other-value  ${TAINT}  can be removed`,
        `two          ${TAINT}  can be removed`,
        '',
        'To remove 3 taints, run it again with --yes.',
        '',
      ].join('\n'),
    });
    expect(await taintsOf(cp(), 'one')).toEqual([TAINT]);

    const { code, stdout } = await run('--policy', POOL, '--yes', '-o', 'json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout).taints).toEqual([
      { node: 'elsewhere', taint: TAINT, result: 'kept', reason: 'NotSelected' },
      ...['one', 'other-value', 'two'].map((node) => ({ node, taint: TAINT, result: 'removed' })),
    ]);
    for (const name of ['one', 'two', 'other-value']) expect(await taintsOf(cp(), name)).toEqual([]);
    expect(await taintsOf(cp(), 'elsewhere')).toEqual([TAINT]);
  });

  it('are removed after the policy was deleted, from its file', async () => {
    await createNodes(cp(), ['three'], POOL, [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }]);
    expect((await cp().request(admin, 'DELETE', `${POLICIES_PATH.TaintPolicy}/${POOL}`)).status).toBe(200);
    expect(await run('--policy', POOL, '--yes')).toMatchObject({
      code: 2,
      stderr: `taintkeeper: the cluster has no TaintPolicy "${POOL}": pass the file that it came from with --policies\n`,
    });

    const file = join(temporaryDirectory(), 'policy.yaml');
    await writeFile(file, JSON.stringify(policyObject('TaintPolicy', POOL, SPEC)));
    const { code, stdout } = await run('--policy', POOL, '--policies', file, '--yes');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^three +dedicated=gpu:NoSchedule +removed$/m);
    expect(await taintsOf(cp(), 'three')).toEqual([]);
  });
});
