import { afterAll, beforeAll, expect, it } from 'vitest';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer } from '../control-plane/users.ts';
import {
  createNodes,
  createTaintPolicy,
  eventsAbout,
  patchNode,
  waitForEvent,
  waitForStatus,
  waitForTaints,
  waitUntilRestored,
} from './drift.ts';
import { type Installation, install } from './installation.ts';
import { kubectl, taintsOf } from './nodes.ts';
import { POLICIES_PATH } from './policy-resources.ts';
import { runAs } from './run-taintkeeper.ts';

/** Each pool has a key of its own: a value that a policy has for other nodes would stay. */
const keyOf = (pool: string) => `example.com/${pool}`;
const taint = (pool: string, value: string) => ({ key: keyOf(pool), value, effect: 'NoSchedule' });
const text = (pool: string, value: string) => `${keyOf(pool)}=${value}:NoSchedule`;
const REQUIRED = text('kept', 'job-1');
const OTHER = text('kept', 'job-2');

describeWithControlPlane('a required taint whose value was changed while taintkeeper was down', {}, (cp) => {
  let installation: Installation;
  const explain = (name: string) => runAs(admin, cp(), ['explain', 'node', name]);

  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a']);
    const required = (pool: string) => ({ taints: [{ ...taint(pool, 'job-1'), ensure: 'Always' }] });
    await createTaintPolicy(cp(), 'batch', required('batch'));
    await createTaintPolicy(cp(), 'strict', { ...required('strict'), mode: 'Deny', failurePolicy: 'Ignore' });
    await createTaintPolicy(cp(), 'kept', required('kept'));
    // It protects every value of the taint on the nodes of the policy before.
    const nodeSelector = { matchLabels: { pool: 'kept' } };
    await createTaintPolicy(cp(), 'any-value', {
      ...{ taints: [{ key: keyOf('kept') }], nodeSelector, mode: 'Deny', failurePolicy: 'Ignore' },
    });
    for (const pool of ['batch', 'strict', 'kept'])
      await createNodes(cp(), [`${pool}-1`], pool, [taint(pool, 'job-1')]);
    await waitUntilRestored(cp(), 'batch-1', keyOf('batch'));
    await installation.replica('a').stop();
    installation.replicas.delete('a');
    for (const pool of ['batch', 'strict', 'kept']) {
      expect((await patchNode(cp(), admin, `${pool}-1`, { spec: { taints: [taint(pool, 'job-2')] } })).error).toBe('');
    }
    await installation.start(['b']);
    await installation.proxy.waitForReady('b');
  });
  afterAll(() => installation?.stop());

  it.each(['batch', 'strict'])('has its value back, in mode Restore and Deny: policy %s', async (policy) => {
    await waitForTaints(cp(), `${policy}-1`, text(policy, 'job-1'));
    await waitForEvent(cp(), `${policy}-1`, 'TaintAdded');
  });

  it('keeps a value that another policy protects, which is reported with both values', async () => {
    expect((await waitForEvent(cp(), 'kept-1', 'TaintMissing')).note).toBe(
      `TaintPolicy kept reports taint ${OTHER} in place of ${REQUIRED}: the node carries another value of it, which another policy protects or sets; ` +
        'to change it: taintkeeper explain node kept-1',
    );
    await waitForStatus(cp(), 'kept', ({ violators }) => violators?.join() === 'kept-1');
    expect(await taintsOf(cp(), 'kept-1')).toEqual([OTHER]);
  });

  it('is changed to the required value by the command of explain, which always passes', async () => {
    // The policy in mode Deny is in force in the API server.
    await expect
      .poll(
        async () => (await patchNode(cp(), developer, 'kept-1', { spec: { taints: [taint('kept', 'job-3')] } })).error,
        {
          timeout: 30_000,
        },
      )
      .toContain(`removing taint ${OTHER} is not allowed (TaintPolicy "any-value"`);
    const { code, stdout } = await explain('kept-1');
    expect(code).toBe(1);
    const [, command = ''] = /^next: kubectl (.*)$/m.exec(stdout) ?? [];
    expect(command).toBe(`taint --overwrite node kept-1 ${REQUIRED}`);
    expect(await kubectl(cp(), developer, command.split(' '))).toMatchObject({ passed: true, error: '' });
    await waitForTaints(cp(), 'kept-1', REQUIRED);
    await waitForStatus(cp(), 'kept', ({ violating }) => violating === 0);
    expect(await explain('kept-1')).toMatchObject({ code: 0 });
  });

  it('is set to the new value where the policy changes it, and other users cannot change it back', async () => {
    const { status } = await cp().request(admin, 'PATCH', `${POLICIES_PATH.TaintPolicy}/batch`, {
      body: { spec: { taints: [{ ...taint('batch', 'job-4'), ensure: 'Always' }] } },
      contentType: MERGE_PATCH,
    });
    expect(status).toBe(200);
    await waitForTaints(cp(), 'batch-1', text('batch', 'job-4'));
    await expect
      .poll(
        async () =>
          (
            await kubectl(cp(), developer, [
              'taint',
              '--overwrite',
              '--dry-run=server',
              'node',
              'batch-1',
              text('batch', 'job-1'),
            ])
          ).warnings,
        { timeout: 30_000 },
      )
      .toEqual([`TaintPolicy batch restored taint ${text('batch', 'job-4')}`]);
    expect(await eventsAbout(cp(), 'batch-1', 'TaintConflict')).toEqual([]);
  });
});
