import { expect, it, onTestFinished, vi } from 'vitest';
import { captureLog } from '../../captured-log.ts';
import { eventually } from '../../eventually.ts';
import { clientFor } from '../client/fake-api.ts';
import { startFakePolicies } from './fake-policies.ts';

const POLICY_SET = '../../../../src/policy/policy-set.ts';
let isFailing = false;

/** `watchPolicies` with a compiler of policies that can fail. */
async function withFailingCompiler() {
  isFailing = false;
  vi.resetModules();
  vi.doMock(POLICY_SET, async (original) => {
    const actual = await original<typeof import('../../../../src/policy/policy-set.ts')>();
    return {
      ...actual,
      compilePolicies(...args: Parameters<typeof actual.compilePolicies>) {
        if (isFailing) throw new Error('on purpose');
        return actual.compilePolicies(...args);
      },
    };
  });
  onTestFinished(() => {
    vi.doUnmock(POLICY_SET);
    vi.resetModules();
  });
  return (await import('../../../../src/cluster/policies/policies.ts')).watchPolicies;
}

const policy = (name: string, resourceVersion: string) => ({
  metadata: { name, uid: name, generation: 1, resourceVersion },
  spec: { mode: 'Deny', taints: [{ key: 'dedicated' }] },
});

async function watched() {
  const watchPolicies = await withFailingCompiler();
  const api = await startFakePolicies(policy('a', '1'));
  const { client } = await clientFor(api.url);
  const { log, lines } = captureLog();
  const policies = watchPolicies({ client, audit: false, onState() {}, log });
  onTestFinished(async () => void (await policies.stop()));
  const add = (added: ReturnType<typeof policy>) => api.send('ADDED', added);
  const failures = () => lines().filter(({ level }) => level === 50);
  return { policies, add, failures, names: () => policies.snapshot().policies.map(({ name }) => name) };
}

it('policies that cannot be compiled leave those before in force, and the process goes on', async () => {
  const { policies, add, failures, names } = await watched();
  await policies.synced;
  isFailing = true;
  await add(policy('b', '2'));
  await eventually(() => expect(failures()).toHaveLength(1));
  expect(names()).toEqual(['a']);
  isFailing = false;
  await add(policy('c', '3'));
  await eventually(() => expect(names()).toEqual(['a', 'b', 'c']));
});

it('the first ones that cannot be compiled leave the replica not ready', async () => {
  const { policies, add, failures, names } = await watched();
  isFailing = true;
  await eventually(() => expect(failures()).toHaveLength(1));
  expect(policies.isSynced()).toBe(false);
  isFailing = false;
  await add(policy('b', '2'));
  await policies.synced;
  expect(names()).toEqual(['a', 'b']);
});

it('a subscriber that throws does not end the process', async () => {
  const { policies, add, failures, names } = await watched();
  await policies.synced;
  policies.changes.subscribe(() => {
    throw new Error('on purpose');
  });
  await add(policy('b', '2'));
  await eventually(() => expect(failures()).toHaveLength(1));
  expect(names()).toEqual(['a', 'b']);
});
