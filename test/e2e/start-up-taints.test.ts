import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MERGE_PATCH, STRATEGIC_MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createNodes, createTaintPolicy, waitUntilRestored } from './drift.ts';
import { type Installation, install } from './installation.ts';
import { attempt, GPU, path, type Taint, taintsOf } from './nodes.ts';

const GPU_TEXT = 'dedicated=gpu:NoSchedule';
const OWN: Taint = { key: 'own.example.com/team', value: 'a', effect: 'NoSchedule' };
const OWN_TEXT = 'own.example.com/team=a:NoSchedule';
/** Of an agent that no list of taintkeeper names. */
const UNKNOWN: Taint = { key: 'boot.example.com/preparing', value: 'yes', effect: 'NoExecute' };
/** Of the domain that the policies protect, which leave it out. */
const EXCEPTED: Taint = { key: 'own.example.com/preparing', effect: 'NoSchedule' };

describeWithControlPlane('a taint that an operator sets while a node starts, beside protected ones', {}, (cp) => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a']);
    for (const mode of ['Deny', 'Restore']) {
      const taints = [{ key: GPU.key }, { key: 'own.example.com/*', except: [EXCEPTED.key] }];
      await createTaintPolicy(cp(), mode.toLowerCase(), { mode, taints });
    }
    await installation.proxy.waitForReady('a');
    await createNodes(cp(), ['probe-deny'], 'deny', [GPU]);
    await createNodes(cp(), ['probe-restore'], 'restore', [GPU]);
    await waitUntilRestored(cp(), 'probe-restore', GPU.key);
    const isInForce = async () => {
      const url = `${path('probe-deny')}?dryRun=All`;
      return !(await attempt(cp(), developer, 'PATCH', url, { spec: { taints: null } }, MERGE_PATCH)).passed;
    };
    await waitUntil(async () => (await isInForce()) || undefined, {
      timeoutMs: 30_000,
      otherwise: () => 'the policy in mode Deny is not in force',
    });
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
    describe.each([
      { name: `${pool}-ready`, isReady: true, state: 'that is Ready' },
      { name: `${pool}-new`, isReady: false, state: 'that never was Ready' },
    ])('on a node $state', ({ name, isReady }) => {
      beforeAll(async () => {
        await createNodes(cp(), [name], pool, [GPU, OWN, UNKNOWN, EXCEPTED]);
        if (isReady) await setReady(name);
      });

      it('is removed by its operator at once, without a warning', async () => {
        expect(await setTaints(name, [GPU, OWN, EXCEPTED])).toMatchObject({ passed: true, warnings: [] });
        expect(await setTaints(name, [GPU, OWN])).toMatchObject({ passed: true, warnings: [] });
        expect(await taintsOf(cp(), name)).toEqual([GPU_TEXT, OWN_TEXT]);
      });

      it('the protected ones are kept from the beginning', async () => {
        const removed = await setTaints(name, []);
        expect(removed.passed ? removed.warnings : removed.error).toEqual(
          pool === 'restore'
            ? [`TaintPolicy restore restored taint ${GPU_TEXT}`, `TaintPolicy restore restored taint ${OWN_TEXT}`]
            : expect.stringContaining(`removing taint ${GPU_TEXT} is not allowed (TaintPolicy "deny"`),
        );
        expect(await taintsOf(cp(), name)).toEqual([GPU_TEXT, OWN_TEXT]);
      });
    });
  });
});
