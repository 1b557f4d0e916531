import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { runWithInput } from '../run-command.ts';

const node = (name: string, taints: object[], labels: object = { 'kubernetes.io/hostname': name }) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels, uid: `uid-${name}` },
  spec: { taints },
  status: { capacity: { cpu: '4' } },
});
const QUARANTINE = { key: 'example.com/quarantine', effect: 'NoSchedule' };
const EVICTING = { key: 'example.com/broken', value: 'disk', effect: 'NoExecute' };
const NOT_READY = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule', timeAdded: '2026-01-01T00:00:00Z' };

const exported = (input: unknown, ...args: string[]) =>
  runWithInput(JSON.stringify(input), 'export', '--nodes', '-', ...args);
const listOf = (...items: object[]) => ({ apiVersion: 'v1', kind: 'List', items });

it('prints a policy for a node, with what it leaves out and which taint would evict pods', async () => {
  const { code, stdout } = await exported(node('worker-7', [NOT_READY, QUARANTINE, EVICTING]));
  expect(code).toBe(0);
  expect(stdout).toBe(`# The taints of Node worker-7; written by taintkeeper export.
# Left out: node.kubernetes.io/not-ready:NoSchedule, which Kubernetes removes: a policy would restore it.

apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata:
  name: node-worker-7
spec:
  mode: Restore
  nodeSelector:
    matchLabels:
      kubernetes.io/hostname: worker-7
  taints:
    # Only a node that registers gets it, because it evicts pods.
    - key: example.com/broken
      value: disk
      effect: NoExecute
      ensure: Always
    - key: example.com/quarantine
      effect: NoSchedule
      ensure: Always
`);
});

it('prints a policy for each node of a list that has taints, and names the others', async () => {
  const { stdout } = await exported(
    listOf(
      node('a', [QUARANTINE]),
      node('b', []),
      node('c', [NOT_READY]),
      node('d', [QUARANTINE], {}),
      node('e', [EVICTING]),
    ),
  );
  const policies = parseAllDocuments(stdout).map((document) => document.toJS());
  expect(policies.map(({ metadata }) => metadata.name)).toEqual(['node-a', 'node-e']);
  expect(stdout).toContain('# Node b has no taint for a policy to require.\n');
  expect(stdout).toContain('# Node c has no taint for a policy to require.\n');
  expect(stdout).toContain('# Node d is left out: it has no label kubernetes.io/hostname that would select it.\n');
});

it('prints JSON for kubectl, and notes on stderr', async () => {
  const { code, stdout, stderr } = await exported(listOf(node('a', [QUARANTINE]), node('b', [])), '-o', 'json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ kind: 'TaintPolicy', metadata: { name: 'node-a' } });
  expect(stderr).toContain('Node b has no taint for a policy to require.');
});

describe('a startup taint of a TaintPolicy in the same files', () => {
  const STARTUP = { key: 'example.com/gpu-not-ready', effect: 'NoSchedule' };
  const policy = (rule: object, more: object = {}) => ({
    apiVersion: 'taintkeeper.dev/v1alpha1',
    kind: 'TaintPolicy',
    metadata: { name: 'gpu-startup', uid: 'u' },
    spec: { mode: 'Restore', taints: [{ ...STARTUP, ...rule }], ...more },
    status: { mode: 'Restore' },
  });
  const UNTIL_READY = { ensure: 'UntilReady', readyWhen: { allocatable: [{ resource: 'nvidia.com/gpu' }] } };

  it.each<[why: string, policy: object, isLeftOut: boolean]>([
    ['the leader removes it', policy(UNTIL_READY), true],
    ['its agent removes it', policy({ ensure: 'AtRegistration' }), true],
    ['the policy is for this pool', policy(UNTIL_READY, { nodeSelector: { matchLabels: { pool: 'gpu' } } }), true],
    ['the policy requires it', policy({ ensure: 'Always' }), false],
    ['another effect', policy({ ensure: 'AtRegistration', effect: 'NoExecute' }), false],
    ['another value', policy({ ...UNTIL_READY, value: 'other' }), false],
    ['the policy is for other nodes', policy(UNTIL_READY, { nodeSelector: { matchLabels: { pool: 'cpu' } } }), false],
  ])('is left out only if it is one on this node: %s', async (_why, object, isLeftOut) => {
    const of = node('a', [STARTUP, QUARANTINE], { 'kubernetes.io/hostname': 'a', pool: 'gpu' });
    const { code, stdout } = await exported(listOf(of, object));
    expect(code).toBe(0);
    expect(parse(stdout).spec.taints.map(({ key }: { key: string }) => key)).toEqual([
      ...(isLeftOut ? [] : [STARTUP.key]),
      QUARANTINE.key,
    ]);
    const note = '# Left out: example.com/gpu-not-ready:NoSchedule, a startup taint of TaintPolicy gpu-startup.\n';
    expect(stdout.includes(note)).toBe(isLeftOut);
  });

  it('is named if no other taint is left', async () => {
    const { stdout } = await exported(listOf(node('a', [STARTUP]), policy(UNTIL_READY)));
    expect(stdout).toContain('a startup taint of TaintPolicy gpu-startup.');
    expect(stdout).toContain('# Node a has no taint for a policy to require.\n');
  });

  it('is unknown if the policy is invalid, which is an error', async () => {
    const { code, stdout, stderr } = await exported(listOf(node('a', [STARTUP]), policy({ ensure: 'UntilReady' })));
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('ensure: UntilReady needs readyWhen');
  });
});

it.each([
  ['False', true],
  ['Unknown', true],
  ['True', false],
])('notes that the taints of a node with the condition Ready %s may be startup taints: %s', async (status, isNoted) => {
  const of = { ...node('a', [QUARANTINE]), status: { conditions: [{ type: 'Ready', status }] } };
  const { code, stdout, stderr } = await exported(listOf(of, node('b', [QUARANTINE])));
  expect([code, parseAllDocuments(stdout).length]).toEqual([0, 2]);
  expect(stderr).toBe(
    isNoted
      ? 'taintkeeper: Node a is not Ready: it may have taints only until it is. Delete them from the policy before you apply it\n'
      : '',
  );
});

it('prints only comments if no node has a taint to keep', async () => {
  const { code, stdout } = await exported(node('b', []));
  expect([code, parse(stdout)]).toEqual([0, null]);
});

it.each<[why: string, input: unknown, args: string[], fault: string]>([
  ['no Node', { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } }, [], 'no Node found'],
  [
    'two nodes with one label: each policy would set its taints on both',
    listOf(node('a', [QUARANTINE]), node('b', [EVICTING], { 'kubernetes.io/hostname': 'a' })),
    [],
    'node-a, node-b: these nodes have the same labels',
  ],
  ['a Node with an impossible taint', node('a', [{ key: 'a b', effect: 'NoSchedule' }]), [], 'TaintPolicy node-a: '],
  ['options of native policies', node('a', [QUARANTINE]), ['--kubernetes', '1.34'], 'only --output is used'],
  ['another source', node('a', [QUARANTINE]), ['--cluster'], 'only --output is used'],
])('refuses %s', async (_why, input, args, fault) => {
  const { code, stdout, stderr } = await exported(input, ...args);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain(fault);
});
