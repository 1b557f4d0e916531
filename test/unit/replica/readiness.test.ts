import { expect, it } from 'vitest';
import { openPolicyStore } from '../../../src/files/policy-store.ts';
import { filedPoliciesCheck, stoppingCheck } from '../../../src/replica/readiness.ts';
import { taintPolicyYaml } from '../reviews.ts';

it.each([
  { audit: false, inForce: '2 in force' },
  { audit: true, inForce: '2 in force, all as Audit' },
])('policies with audit $audit are $inForce, also while a later reading failed', async ({ audit, inForce }) => {
  let text = `${taintPolicyYaml('Deny')}---\n${taintPolicyYaml('Restore')}`;
  const store = await openPolicyStore(async () => [{ name: 'a.yaml', text }], audit);
  expect(filedPoliciesCheck(store, audit)).toEqual({ name: 'policies', state: 'ok', detail: inForce });

  text = '';
  await store.reload();
  expect(filedPoliciesCheck(store, audit)).toEqual({
    name: 'policies',
    state: 'degraded',
    detail: `${inForce}, the last good ones: no policy found: nothing would be protected`,
  });
});

it.each([
  { stopping: false, state: 'ok', detail: 'not asked for' },
  { stopping: true, state: 'failed', detail: 'stopping' },
])('while stopping is $stopping, shutdown is $state', ({ stopping, state, detail }) => {
  expect(stoppingCheck(stopping)).toEqual({ name: 'shutdown', state, detail });
});
