import { expect, it, onTestFinished } from 'vitest';
import { watchPolicies } from '../../../../src/cluster/policies/policies.ts';
import { captureLog } from '../../captured-log.ts';
import { clientFor } from '../client/fake-api.ts';
import { startFakePolicies } from './fake-policies.ts';

const USABLE = { mode: 'Deny', taints: [{ key: 'a' }] };
const UNUSABLE = { mode: 'Never' };

const policy = (uid: string, generation: number, spec: object) => ({
  metadata: { name: 'keep', uid, generation, resourceVersion: `${generation + 1}` },
  spec,
});

/** Watches TaintPolicies of which the first list has `first`. */
async function policiesOf(first: Parameters<typeof startFakePolicies>[0]) {
  const api = await startFakePolicies(first);
  const { client } = await clientFor(api.url);
  const policies = watchPolicies({ client, audit: false, onState() {}, log: captureLog().log });
  onTestFinished(async () => void (await policies.stop()));
  await policies.synced;
  const inForce = () => policies.objects().map(({ inForce }) => inForce?.generation);
  return { policies, inForce, send: api.send };
}

it('a spec that cannot be used leaves the last usable one in force, and another edit of that kind does, too', async () => {
  const { policies, inForce, send } = await policiesOf(policy('u', 1, USABLE));
  await send('MODIFIED', policy('u', 2, UNUSABLE));
  await send('MODIFIED', policy('u', 3, { ...UNUSABLE, taints: [] }));
  await expect.poll(() => policies.objects()[0]?.generation).toBe(3);
  expect(inForce()).toEqual([1]);
  await expect.poll(() => [...policies.snapshot().versions]).toEqual(['u@1']);
  expect(policies.isComplete('TaintPolicy')).toBe(true);
});

it('nothing is in force of a policy that could not be used since the process started', async () => {
  const { policies, inForce, send } = await policiesOf(policy('u', 2, UNUSABLE));
  expect(inForce()).toEqual([undefined]);
  expect(policies.snapshot().policies).toEqual([]);
  expect(policies.isComplete('TaintPolicy')).toBe(false);

  await send('MODIFIED', policy('u', 3, USABLE));
  await expect.poll(() => policies.isComplete('TaintPolicy')).toBe(true);
  expect(inForce()).toEqual([3]);
});

it('a policy that is deleted and created again has nothing of the one before', async () => {
  const { policies, inForce, send } = await policiesOf(policy('u', 1, USABLE));
  await send('DELETED', policy('u', 1, USABLE));
  await send('ADDED', policy('v', 1, UNUSABLE));
  await expect.poll(() => policies.objects()[0]?.uid).toBe('v');
  expect(inForce()).toEqual([undefined]);
});

it('one generation that is read again with more fields is in force with them, because its definition had changed meanwhile', async () => {
  const readyWhen = { conditions: [{ type: 'A' }] };
  const rule = { key: 'a', effect: 'NoSchedule', ensure: 'UntilReady' };
  const specOf = (more: object) => ({ mode: 'Restore', taints: [{ ...rule, readyWhen: { ...readyWhen, ...more } }] });
  const { policies, send } = await policiesOf(policy('u', 1, specOf({})));
  const later = (resourceVersion: string, more: object) => {
    const object = policy('u', 1, specOf(more));
    return { ...object, metadata: { ...object.metadata, resourceVersion } };
  };
  const unknown = () =>
    policies
      .snapshot()
      .compiled.taintPolicies.flatMap(({ untilReady }) => untilReady.flatMap(({ unknownParts }) => unknownParts));
  expect(unknown()).toEqual([]);
  await send('MODIFIED', later('3', { future: true }));
  await expect.poll(unknown).toEqual(['spec.taints[0].readyWhen.future']);
  const before = policies.snapshot();
  await send('MODIFIED', later('4', { future: true }));
  await expect.poll(() => policies.objects()[0]?.resourceVersion).toBe('4');
  expect(policies.snapshot()).toBe(before);
});
