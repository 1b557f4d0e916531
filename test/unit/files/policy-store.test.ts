import { expect, it } from 'vitest';
import { InputError } from '../../../src/files/input-error.ts';
import type { PolicySource } from '../../../src/files/policy-files.ts';
import { openPolicyStore } from '../../../src/files/policy-store.ts';
import { taintPolicyYaml } from '../reviews.ts';

/** A source whose text, or failure, can be set. */
function changingSource(text: string) {
  const source = { text, failure: undefined as Error | undefined };
  const read = async (): Promise<PolicySource[]> => {
    if (source.failure) throw source.failure;
    return [{ name: 'a.yaml', text: source.text }];
  };
  return { source, read };
}

const modes = (store: Awaited<ReturnType<typeof openPolicyStore>>) =>
  store.policies().taintPolicies.map(({ name, mode }) => `${name} ${mode}`);

it('has the policies of the first reading in force', async () => {
  const store = await openPolicyStore(changingSource(taintPolicyYaml('Deny')).read, false);

  expect(modes(store)).toEqual(['keep-deny Deny']);
  expect(store.lastLoad()).toMatchObject({ ok: true, policies: [{ kind: 'TaintPolicy', name: 'keep-deny' }] });
});

it('takes every policy to be in mode Audit when asked to, also after a reload', async () => {
  const { source, read } = changingSource(taintPolicyYaml('Deny'));
  const store = await openPolicyStore(read, true);
  expect(modes(store)).toEqual(['keep-deny Audit']);

  source.text = taintPolicyYaml('Restore');
  await store.reload();
  expect(modes(store)).toEqual(['keep-restore Audit']);
});

it.each([
  { why: 'broken', text: 'kind: Pod', message: /expected kind TaintPolicy/ },
  { why: 'empty', text: '# to be written', message: /no policy found/ },
])('cannot open with sources that are $why', async ({ text, message }) => {
  const opening = openPolicyStore(changingSource(text).read, false);
  await expect(opening).rejects.toThrow(InputError);
  await expect(opening).rejects.toThrow(message);
});

it('puts changed policies in force, and leaves a snapshot that was taken before as it is', async () => {
  const { source, read } = changingSource(taintPolicyYaml('Deny'));
  const store = await openPolicyStore(read, false);
  const before = store.policies();
  source.text = taintPolicyYaml('Audit');

  expect(await store.reload()).toMatchObject({ ok: true });
  expect(modes(store)).toEqual(['keep-audit Audit']);
  expect(before.taintPolicies.map(({ name }) => name)).toEqual(['keep-deny']);
});

it.each([
  { why: 'a source is broken', break: { text: 'a: [' }, fault: /^a\.yaml:\d+:\d+: / },
  { why: 'the sources are empty', break: { text: '' }, fault: /no policy found/ },
  { why: 'a source cannot be read', break: { failure: new InputError(['cannot read a.yaml: gone']) }, fault: /gone/ },
  { why: 'something else fails', break: { failure: new Error('out of memory') }, fault: /out of memory/ },
])('keeps the last good policies while $why, and takes the next good ones', async ({ break: broken, fault }) => {
  const { source, read } = changingSource(taintPolicyYaml('Deny'));
  const store = await openPolicyStore(read, false);
  Object.assign(source, broken);

  expect(await store.reload()).toEqual({ ok: false, faults: [expect.stringMatching(fault)] });
  expect(store.lastLoad()).toMatchObject({ ok: false });
  expect(modes(store)).toEqual(['keep-deny Deny']);

  Object.assign(source, { text: taintPolicyYaml('Audit'), failure: undefined });
  expect(await store.reload()).toMatchObject({ ok: true });
  expect(modes(store)).toEqual(['keep-audit Audit']);
});
