import { beforeEach, expect, it, vi } from 'vitest';
import type { ApiClient, RequestOptions } from '../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import { startDefaultPolicies } from '../../../../src/controllers/installation/default-policies.ts';
import { captureLog } from '../../captured-log.ts';
import { startInTest } from '../run.ts';

beforeEach(() => {
  vi.useFakeTimers();
  return () => vi.useRealTimers();
});

const policy = (name: string) =>
  `{apiVersion: taintkeeper.dev/v1alpha1, kind: TaintPolicy, metadata: {name: ${name}}, spec: {mode: Deny, taints: [{key: k }]}}`;

/** An API server with a ConfigMap, and the policies that were created. */
function rig(data: Readonly<Record<string, string>>) {
  const policies = new Set<string>();
  const refused = new Set<string>();
  const { log, lines } = captureLog();
  let annotations: Readonly<Record<string, string>> = {};
  const client = {
    async request(method: string, path: string, { body }: RequestOptions = {}) {
      const { metadata } = (body ?? {}) as { metadata: { name: string; annotations: Record<string, string> } };
      if (method === 'GET') return { metadata: { resourceVersion: '1', annotations }, data };
      if (method === 'PATCH') annotations = { ...annotations, ...metadata.annotations };
      else if (refused.has(metadata.name)) throw new ApiError(method, path, 403, 'Forbidden', 'not this one');
      else if (policies.has(metadata.name)) throw new ApiError(method, path, 409, 'AlreadyExists', '');
      else policies.add(metadata.name);
      return {};
    },
  } as ApiClient;
  /** Starts a leader, and waits for its first run. */
  const lead = () => {
    startInTest(log, (run) => startDefaultPolicies(run, { client, namespace: 'taintkeeper', configMap: 'defaults' }));
    return vi.advanceTimersByTimeAsync(10);
  };
  return { policies, refused, lead, messages: () => lines().map(({ msg }) => msg) };
}

it('creates each once: a policy that the user has deleted is not created again', async () => {
  const { policies, lead } = rig({ 'a.yaml': policy('a'), 'b.yaml': policy('b') });
  await lead();
  expect([...policies]).toEqual(['a', 'b']);
  policies.delete('a');
  await lead();
  expect([...policies]).toEqual(['b']);
});

it('also while the API server refuses another one, which is tried again', async () => {
  const { policies, refused, lead, messages } = rig({
    'a.yaml': policy('a'),
    'b.yaml': policy('b'),
    'c.yaml': policy('c'),
  });
  refused.add('b');
  await lead();
  expect([...policies]).toEqual(['a', 'c']);
  policies.delete('a');
  await vi.advanceTimersByTimeAsync(30_000);
  expect([...policies]).toEqual(['c']);
  expect(messages()).toContainEqual(expect.stringContaining('not this one'));
  refused.clear();
  await vi.advanceTimersByTimeAsync(30_000);
  expect([...policies]).toEqual(['c', 'b']);
});

it('also while the API server refuses another one of the same entry', async () => {
  const { policies, refused, lead, messages } = rig({ 'a.yaml': `${policy('a')}\n---\n${policy('b')}` });
  refused.add('b');
  await lead();
  expect([...policies]).toEqual(['a']);
  policies.delete('a');
  await vi.advanceTimersByTimeAsync(30_000);
  expect([...policies]).toEqual([]);
  refused.clear();
  await vi.advanceTimersByTimeAsync(30_000);
  expect([...policies]).toEqual(['b']);
  expect(messages().filter((message) => String(message).includes('created'))).toEqual([
    'TaintPolicy a created, as a default policy',
    'TaintPolicy b created, as a default policy',
  ]);
});

it.each([
  { why: 'it is not complete', text: 'kind: TaintPolicy', problem: 'apiVersion is missing' },
  {
    why: 'a field has another type',
    text: policy('a').replace('key: k', 'key: 1'),
    problem: 'spec.taints[0].key: expected a string, got 1',
  },
  {
    why: 'a pattern is not in quotes',
    text: policy('a').replace('mode: Deny', 'exempt: { groups: [*-admins] }, mode: Deny'),
    problem: '*-admins has no anchor: a text that begins with "*" needs quotes',
  },
])(
  'creates the others while one entry is not a policy, and reports once which one: $why',
  async ({ text, problem }) => {
    const { policies, lead, messages } = rig({ 'a.yaml': text, 'b.yaml': policy('b') });
    await lead();
    await vi.advanceTimersByTimeAsync(120_000);
    expect([...policies]).toEqual(['b']);
    expect(messages()).toEqual([
      expect.stringMatching(
        /^ConfigMap taintkeeper\/defaults, a\.yaml:1:\d+: .+; none of its policies is created until it is corrected$/,
      ),
      'TaintPolicy b created, as a default policy',
    ]);
    expect(messages()[0]).toContain(problem);
  },
);

it.each([
  ['not a policy', 'kind: TaintPolicy'],
  ['not YAML', '{apiVersion: taintkeeper.dev/v1alpha1, kind: TaintPolicy'],
  ['a policy, and one that is not', `${policy('a')}\n---\nkind: TaintPolicy`],
  ['nothing but a comment', '# nothing yet\n---\n'],
])('creates the policy of an entry once it is corrected: %s', async (_why, text) => {
  const data = { 'a.yaml': text };
  const { policies, lead } = rig(data);
  await lead();
  expect([...policies]).toEqual([]);
  data['a.yaml'] = policy('a');
  await vi.advanceTimersByTimeAsync(60_000);
  expect([...policies]).toEqual(['a']);
});

it('creates a policy between documents without content', async () => {
  const { policies, lead } = rig({ 'a.yaml': `---\n# ours\n---\n${policy('a')}\n---\n` });
  await lead();
  expect([...policies]).toEqual(['a']);
});
