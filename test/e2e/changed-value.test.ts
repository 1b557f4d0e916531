import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer } from '../control-plane/users.ts';
import { createNodes, createTaintPolicy, patchNode, waitForEvent, waitForRecord, waitForTaints } from './drift.ts';
import { type Installation, install } from './installation.ts';
import { kubectl } from './nodes.ts';
import { pasteRemedy } from './paste-remedy.ts';
import { runAs } from './run-taintkeeper.ts';

const KEY = 'example.com/reserved';
const OLD = `${KEY}=job-1:NoSchedule`;
const NEW = `${KEY}=job-2:NoSchedule`;
const taint = (value: string) => ({ key: KEY, value, effect: 'NoSchedule' });

const GUIDE = readFileSync(new URL('../../docs/who-may.md', import.meta.url), 'utf8');
const [, SECTION = ''] = GUIDE.split('### A value that was changed while taintkeeper was down');
const DOCUMENTED = [...SECTION.matchAll(/^\$ kubectl (.*)$/gm)].map(([, args = '']) => args.split(' '));

describeWithControlPlane('a restricted taint whose value was changed while taintkeeper was down', {}, (cp) => {
  let installation: Installation;
  const explain = (name: string) => runAs(admin, cp(), ['explain', 'node', name]);

  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a']);
    const guarded = { taints: [{ key: KEY, restrict: ['Removal', 'Addition'] }], exempt: { users: [developer.name] } };
    await createTaintPolicy(cp(), 'batch', guarded);
    await createTaintPolicy(cp(), 'strict', { ...guarded, mode: 'Deny', failurePolicy: 'Ignore' });
    await createNodes(cp(), ['b-7', 'b-8'], 'batch', [taint('job-1')]);
    await createNodes(cp(), ['s-1'], 'strict', [taint('job-1')]);
    for (const name of ['b-7', 'b-8', 's-1']) await waitForRecord(cp(), name, OLD);
    await installation.replica('a').stop();
    installation.replicas.delete('a');
    for (const name of ['b-7', 'b-8', 's-1']) {
      expect((await patchNode(cp(), admin, name, { spec: { taints: [taint('job-2')] } })).error).toBe('');
    }
    await installation.start(['b']);
    await installation.proxy.waitForReady('b');
  });
  afterAll(() => installation?.stop());

  it.each([
    { name: 'b-7', policy: 'batch', why: 'both values are protected' },
    { name: 's-1', policy: 'strict', why: 'mode Deny does not restore it' },
  ])('is told with both values: node $name', async ({ name, policy, why }) => {
    expect((await waitForEvent(cp(), name, 'TaintValueDiffers')).note).toBe(
      `TaintPolicy ${policy} reports taint ${NEW} in place of ${OLD}: ${why}; to change it: taintkeeper explain node ${name}`,
    );
  });

  it('is changed back by the documented commands, which explain shows as well', async () => {
    expect(DOCUMENTED).toHaveLength(2);
    const commands = DOCUMENTED.map((args) => `kubectl ${args.join(' ')}`).join(' && ');
    expect((await explain('b-7')).stdout).toContain(`next: ${commands}\n`);
    for (const args of DOCUMENTED) expect(await kubectl(cp(), admin, args)).toMatchObject({ passed: true, error: '' });
    await waitForTaints(cp(), 'b-7', OLD);
    await waitForRecord(cp(), 'b-7', OLD);
    expect(await explain('b-7')).toMatchObject({ code: 0 });
  });

  it('is changed back by what explain shows in mode Deny', async () => {
    const [, next] = /^next: (kubectl .*)$/m.exec((await explain('s-1')).stdout) ?? [];
    await pasteRemedy(cp(), next);
    await waitForTaints(cp(), 's-1', OLD);
    await waitForRecord(cp(), 's-1', OLD);
  });

  it('is kept by the other documented command', async () => {
    expect(await kubectl(cp(), admin, ['delete', 'nodetaintrecord', 'b-8'])).toMatchObject({ passed: true });
    await waitForRecord(cp(), 'b-8', NEW);
    expect(await explain('b-8')).toMatchObject({ code: 0 });
    await waitForTaints(cp(), 'b-8', NEW);
  });
});
