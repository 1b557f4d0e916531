import { describe, expect, it } from 'vitest';
import { parsePolicies } from '../../../../src/files/policy-files.ts';
import type { NodeView } from '../../../../src/judge/node-view.ts';
import { daemonSetFindings, nodeFindings, podFindings } from '../../../../src/judge/policy/findings.ts';
import {
  losesProtection,
  losesStartupRule,
  mayLeaveStartupTaints,
  protectionWarnings,
  waitingWarnings,
} from '../../../../src/judge/policy/policy-change.ts';
import { compilePolicies } from '../../../../src/policy/policy-set.ts';
import type { TaintMode, TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../../src/policy/taint-rule.ts';
import { policySet } from '../../policy/policies.ts';

const POLICIES = parsePolicies([
  {
    name: 'test',
    text: `
apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata: { name: gpu }
spec:
  mode: Restore
  nodeSelector: { matchLabels: { pool: gpu } }
  taints: [{ key: dedicated, value: gpu, effect: NoSchedule, ensure: Always }, { key: other }]
---
apiVersion: taintkeeper.dev/v1alpha1
kind: TolerationPolicy
metadata: { name: cni }
spec:
  mode: Mutate
  daemonSets: { namespaces: [kube-system] }
---
apiVersion: taintkeeper.dev/v1alpha1
kind: RecoveryPolicy
metadata: { name: daemons }
spec:
  daemonSets: { namespaces: [kube-system] }
`,
  },
]);
const { taintPolicies, tolerationPolicies, recoveryPolicies } = compilePolicies(POLICIES);
const [gpu] = taintPolicies;
const [cni] = tolerationPolicies;
const [daemons] = recoveryPolicies;
if (!gpu || !cni || !daemons) throw new Error('the policies are not there');

const node = (name: string, pool: string, ...keys: string[]) =>
  ({
    name,
    labels: { pool },
    taints: keys.map((key) => ({ key, value: 'gpu', effect: 'NoSchedule' })),
    allowRemoval: undefined,
  }) as NodeView;
const daemonSet = (namespace: string, name: string, keys: string[] = [], annotations = {}) => ({
  namespace,
  name,
  labels: {},
  annotations,
  tolerations: keys.map((key) => ({ key, operator: 'Exists', effect: 'NoSchedule' })),
  hostNetwork: false,
  deleting: false,
});

it('nodes on which a required taint is missing violate the policy', () => {
  const nodes = [
    node('other', 'cpu'),
    node('good', 'gpu', 'dedicated'),
    node('bare', 'gpu'),
    node('strange', 'gpu', 'other'),
  ];
  expect(nodeFindings(gpu, nodes, [])).toEqual({
    matched: 3,
    violators: ['bare', 'strange'],
    removalAllowed: 0,
    waiting: 0,
  });
});

it('nodes on which an entry keeps a required taint off do not violate the policy; nodes with entries are counted', () => {
  const allowing = (one: NodeView, allowRemoval: string): NodeView => ({ ...one, allowRemoval });
  const nodes = [
    allowing(node('off', 'gpu'), 'dedicated=gpu:NoSchedule'),
    allowing(node('may-lose', 'gpu', 'dedicated', 'other'), 'other=gpu:NoSchedule'),
    allowing(node('other-value', 'gpu', 'dedicated'), 'dedicated=cpu:NoSchedule'),
    allowing(node('elsewhere', 'cpu'), 'dedicated=gpu:NoSchedule'),
  ];
  expect(nodeFindings(gpu, nodes, [])).toEqual({ matched: 3, violators: [], removalAllowed: 2, waiting: 0 });
});

it.each<{ why: string; spec: Partial<TaintPolicySpec>; audit?: boolean; allowRemoval: string; counted: number }>([
  { why: 'of a required taint', spec: {}, allowRemoval: 'a:NoSchedule', counted: 1 },
  { why: 'of a protected taint', spec: {}, allowRemoval: 'dedicated:NoSchedule', counted: 1 },
  { why: 'not of another taint', spec: {}, allowRemoval: 'other:NoSchedule', counted: 0 },
  { why: 'not of a protected taint that is missing', spec: {}, allowRemoval: 'dedicated:NoExecute', counted: 0 },
  { why: 'beside one that cannot be read', spec: {}, allowRemoval: 'rubbish, dedicated:NoSchedule', counted: 1 },
  {
    why: 'not against removalByAnnotation: Forbidden',
    spec: { removalByAnnotation: 'Forbidden' },
    allowRemoval: 'a:NoSchedule',
    counted: 0,
  },
  { why: 'not with --audit', spec: {}, audit: true, allowRemoval: 'a:NoSchedule', counted: 0 },
])('of nodes: those with an entry are counted, $why', ({ spec, audit = false, allowRemoval, counted }) => {
  const present = (key: string): TaintRule => ({ key, effect: 'NoSchedule', ensure: 'Always' });
  const taints = [present('a'), present('b'), { key: 'dedicated' }];
  const { taintPolicies: all } = policySet({ taint: { p: { mode: 'Restore', taints, ...spec } } }, { audit });
  const carried = ['dedicated', 'other'].map((key) => ({ key, effect: 'NoSchedule' }));
  const one: NodeView = { name: 'n1', labels: {}, taints: carried, allowRemoval };
  expect(all.map((policy) => nodeFindings(policy, [one], []).removalAllowed)).toEqual([counted]);
});

describe('nodes that wait with a startup taint of a policy', () => {
  const STARTUP: TaintRule = {
    ...{ key: 'example.com/network', value: 'x', effect: 'NoSchedule', ensure: 'UntilReady' },
    readyWhen: { daemonSets: [{ namespace: 'kube-system', name: 'cilium' }] },
  };
  const spec = (more: object = {}): TaintPolicySpec => ({
    mode: 'Restore',
    nodeSelector: { matchLabels: { pool: 'gpu' } },
    taints: [STARTUP],
    ...more,
  });
  const compiled = (specs: Readonly<Record<string, TaintPolicySpec>>) => policySet({ taint: specs }).taintPolicies;
  const waiting = (value = 'x', pool = 'gpu', effect = 'NoSchedule'): NodeView => ({
    name: 'n1',
    labels: { pool },
    taints: [{ key: 'example.com/network', value, effect }],
    allowRemoval: undefined,
  });

  it.each<{ why: string; node: NodeView; more?: object; expected: number }>([
    { why: 'it carries the taint', node: waiting(), expected: 1 },
    {
      why: 'it carries one of several',
      node: waiting(),
      more: { taints: [{ ...STARTUP, key: 'example.com/storage' }, STARTUP] },
      expected: 1,
    },
    { why: 'the policy does not select it', node: waiting('x', 'cpu'), expected: 0 },
    { why: 'the value is of another writer', node: waiting('y'), expected: 0 },
    {
      why: 'the rule names no value',
      node: waiting('y'),
      more: { taints: [{ ...STARTUP, value: undefined }] },
      expected: 1,
    },
    { why: 'the effect is another one', node: waiting('x', 'gpu', 'NoExecute'), expected: 0 },
    { why: 'the policy only reports', node: waiting(), more: { mode: 'Audit' }, expected: 0 },
  ])('are counted: $expected, where $why', ({ node: one, more, expected }) => {
    const [policy] = compiled({ p: spec(more) });
    expect(policy && nodeFindings(policy, [one], []).waiting).toBe(expected);
  });

  it.each<{
    why: string;
    earlier?: object;
    after: Readonly<Record<string, TaintPolicySpec>>;
    left: boolean;
    /** Without the nodes, the other policies say nothing. */
    mayLeave?: boolean;
  }>([
    { why: 'the policy is as before', after: { p: spec() }, left: false },
    { why: 'the rule was deleted', after: { p: spec({ taints: [{ key: 'dedicated' }] }) }, left: true },
    { why: 'the rule has another value', after: { p: spec({ taints: [{ ...STARTUP, value: 'y' }] }) }, left: true },
    {
      why: 'the policy selects other nodes',
      after: { p: spec({ nodeSelector: { matchLabels: { pool: 'cpu' } } }) },
      left: true,
    },
    { why: 'the policy only reports', after: { p: spec({ mode: 'Audit' }) }, left: true },
    {
      why: 'another policy has the rule',
      after: { p: spec({ mode: 'Audit' }), q: spec() },
      left: false,
      mayLeave: true,
    },
    {
      why: 'another client removes the taint now',
      after: {
        p: spec({ taints: [{ key: STARTUP.key, value: 'x', effect: 'NoSchedule', ensure: 'AtRegistration' }] }),
      },
      left: false,
    },
    {
      why: 'the taint is required now',
      after: { p: spec({ taints: [{ key: STARTUP.key, value: 'x', effect: 'NoSchedule', ensure: 'Always' }] }) },
      left: false,
      mayLeave: true,
    },
    {
      why: 'another startup taint was deleted',
      earlier: { taints: [STARTUP, { ...STARTUP, key: 'example.com/storage' }] },
      after: { p: spec() },
      left: false,
      mayLeave: true,
    },
    {
      why: 'it only reported before, and sets no startup taint',
      earlier: { mode: 'Audit' },
      after: { p: spec({ taints: [{ key: 'dedicated' }] }) },
      left: false,
    },
  ])('lose it: $left, where $why', ({ earlier, after, left, mayLeave = left }) => {
    const [before] = compiled({ p: spec(earlier) });
    expect(before && losesStartupRule(before, compiled(after), waiting())).toBe(left);
    const changed = compiled(after).find(({ name }) => name === 'p');
    expect(before && changed && mayLeaveStartupTaints(before, changed)).toBe(mayLeave);
  });
});

it('no selector is evaluated for a policy without startup taints, or for a node without them', () => {
  const unread = (policy: typeof gpu): typeof gpu => ({
    ...policy,
    selectsNode: () => {
      throw new Error('evaluated for no reason');
    },
  });
  expect(losesStartupRule(unread(gpu), [unread(gpu)], node('n1', 'gpu', 'dedicated'))).toBe(false);
  const startup: TaintRule = {
    ...{ key: 'example.com/network', effect: 'NoSchedule', ensure: 'UntilReady' },
    readyWhen: { conditions: [{ type: 'A' }] },
  };
  const [waits] = policySet({ taint: { p: { mode: 'Restore', taints: [startup] } } }).taintPolicies;
  expect(waits && losesStartupRule(waits, [unread(gpu)], node('n1', 'gpu', 'dedicated'))).toBe(false);
});

it.each<[readonly string[], string[]]>([
  [[], []],
  [['n1', 'n2'], ['2 nodes still wait, and will lose the startup taint of this policy in 10 seconds: n1, n2']],
  [
    ['n1', 'n2', 'n3', 'n4'],
    ['4 nodes still wait, and will lose the startup taint of this policy in 10 seconds: n1, n2, and 2 more'],
  ],
])('nodes that lose the startup taint of a changed policy are named: %j', (waiting, warnings) => {
  expect(waitingWarnings(waiting, 'will')).toEqual(warnings);
});

it('with --audit, the same nodes violate the policy', () => {
  const [audited] = compilePolicies(POLICIES, { audit: true }).taintPolicies;
  expect(audited && nodeFindings(audited, [node('lost', 'gpu', 'other')], [])).toMatchObject({
    matched: 1,
    violators: ['lost'],
  });
});

/** More than a DaemonSet may have to be changed. */
const MANY = Array.from({ length: 257 }, (_, index) => `own-${index}`);

it('DaemonSets on which a toleration is missing violate the policy, unless they opted out', () => {
  const both = ['node-role.kubernetes.io/master', 'node-role.kubernetes.io/control-plane'];
  const daemonSets = [
    daemonSet('default', 'elsewhere'),
    daemonSet('kube-system', 'good', both),
    daemonSet('kube-system', 'half', both.slice(1)),
    daemonSet('kube-system', 'out', [], { 'taintkeeper.dev/ignore': 'true' }),
    daemonSet('kube-system', 'crowded', MANY),
    daemonSet('kube-system', 'crowded-and-good', [...MANY, ...both]),
    daemonSet('kube-system', 'crowded-and-out', MANY, { 'taintkeeper.dev/ignore': 'true' }),
  ];
  expect(daemonSetFindings(cni, daemonSets, [])).toEqual({
    matched: 6,
    violators: ['kube-system/crowded', 'kube-system/half'],
  });
});

it('with --audit, the same DaemonSets violate the policy', () => {
  const [audited] = compilePolicies(POLICIES, { audit: true }).tolerationPolicies;
  expect(audited && daemonSetFindings(audited, [daemonSet('kube-system', 'bare')], [])).toEqual({
    matched: 1,
    violators: ['kube-system/bare'],
  });
});

it('a DaemonSet violates a policy that requires one of its tolerations for longer', () => {
  const forever = { key: 'gpu', operator: 'Exists', effect: 'NoExecute' } as const;
  const spec = { mode: 'Mutate' as const, daemonSets: { namespaces: ['kube-system'] }, tolerations: [forever] };
  const [policy] = policySet({ toleration: { p: spec } }).tolerationPolicies;
  const daemonSets = [
    { ...daemonSet('kube-system', 'short'), tolerations: [{ ...forever, tolerationSeconds: 60 }] },
    { ...daemonSet('kube-system', 'long'), tolerations: [forever] },
  ];
  expect(policy && daemonSetFindings(policy, daemonSets, [])).toEqual({ matched: 2, violators: ['kube-system/short'] });
});

it('pods that have been Failed for long enough count as stuck, and the DaemonSets that the policy selects are counted', () => {
  const [there, elsewhere] = [daemonSet('kube-system', 'cni'), daemonSet('default', 'cni')];
  const pods = [
    { name: 'kube-system/cni-new', daemonSet: there, forMs: 9_999 },
    { name: 'kube-system/cni-2', daemonSet: there, forMs: 10_000 },
    { name: 'kube-system/cni-1', daemonSet: there, forMs: 60_000 },
    { name: 'default/cni-1', daemonSet: elsewhere, forMs: 60_000 },
  ];
  expect(podFindings(daemons, [there, elsewhere], pods, ['kube-system/cni-1'])).toEqual({
    matched: 1,
    violators: ['kube-system/cni-2', 'kube-system/cni-1'],
  });
});

describe('the violators', () => {
  const bare = (...names: string[]) => names.map((name) => node(name, 'gpu'));

  it('are listed with the latest first; those found together are sorted by name', () => {
    const first = nodeFindings(gpu, bare('b', 'a'), []).violators;
    expect(first).toEqual(['a', 'b']);
    const second = nodeFindings(gpu, bare('a', 'b', 'd', 'c'), first).violators;
    expect(second).toEqual(['c', 'd', 'a', 'b']);
  });

  it('do not contain objects that no longer violate the policy', () => {
    expect(nodeFindings(gpu, bare('b'), ['a', 'b']).violators).toEqual(['b']);
  });
});

describe('a selector that is changed', () => {
  const none = [
    { ...node('n1', 'gpu'), labels: { pool: 'gpu' } },
    { ...node('n2', 'gpu'), labels: { pool: 'gpu', zone: 'a' } },
  ];
  const carrying = none.map((one) => ({ ...one, taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }] }));
  const policy = (matchLabels: Record<string, string>, mode: TaintMode = 'Restore') => {
    const taints: TaintRule[] = [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' }];
    const [one] = policySet({ taint: { p: { mode, taints, nodeSelector: { matchLabels } } } }).taintPolicies;
    if (!one) throw new Error('no policy');
    return one;
  };

  it('no longer protects nodes that carry a protected taint', () => {
    const before = policy({ pool: 'gpu' });
    expect(carrying.filter((node) => losesProtection(before, node)).map(({ name }) => name)).toEqual(['n1', 'n2']);
    expect(none.filter((node) => losesProtection(before, node))).toEqual([]);
    expect(carrying.filter((node) => losesProtection(policy({ zone: 'b' }), node))).toEqual([]);
  });

  it('is not reported for a node with only taints that it did not protect', () => {
    const other = none.map((one) => ({ ...one, taints: [{ key: 'other', effect: 'NoSchedule' }] }));
    expect(other.filter((node) => losesProtection(policy({ pool: 'gpu' }), node))).toEqual([]);
  });

  it.each<[readonly string[], string[]]>([
    [[], []],
    [['n1'], ['this policy no longer protects taints on 1 node that it selected: n1']],
    [
      ['n1', 'n2', 'n3', 'n4'],
      ['this policy no longer protects taints on 4 nodes that it selected: n1, n2, and 2 more'],
    ],
  ])('has a warning that names the nodes it leaves: %j', (left, warnings) => {
    expect(protectionWarnings(left)).toEqual(warnings);
  });

  it('is not reported if the policy only reported', () => {
    expect(carrying.filter((node) => losesProtection(policy({ pool: 'gpu' }, 'Audit'), node))).toEqual([]);
  });
});
