import { describe, expect, it } from 'vitest';
import { isForDaemonSets, parsePolicy } from '../../../src/policy/policy.ts';
import { problemsOf } from '../../e2e/policy-objects.ts';
import { manifest } from './policies.ts';

const taints = [{ key: 'dedicated' }];
const daemonSets = { namespaces: ['kube-system'] };
const untilReady = (readyWhen: object) =>
  manifest('TaintPolicy', 'p', {
    mode: 'Restore',
    taints: [
      {
        ...{ key: 'a', effect: 'NoSchedule', ensure: 'UntilReady' },
        readyWhen: { daemonSets: [{ namespace: 'kube-system', name: 'cni' }], ...readyWhen },
      },
    ],
  });
/** Its domain has one character more than a taint's or a label's may have. */
const LONG_KEY = `${'a'.repeat(254)}/b`;

describe('parsePolicy accepts', () => {
  it.each<[why: string, kind: string, spec: unknown]>([
    ['the smallest TaintPolicy', 'TaintPolicy', { mode: 'Deny', taints }],
    [
      'every field of a TaintPolicy',
      'TaintPolicy',
      {
        mode: 'Restore',
        nodeSelector: {
          matchLabels: { pool: 'gpu' },
          matchExpressions: [{ key: 'a.b/c', operator: 'In', values: ['x', ''] }],
        },
        taints: [
          { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' },
          { key: 'example.com/*', except: ['example.com/a'] },
          { key: 'b', effect: 'NoExecute' },
        ],
        exempt: { users: ['system:serviceaccount:kube-system:*'], groups: ['system:masters'] },
        removalByAnnotation: 'Allowed',
        failurePolicy: 'Fail',
      },
    ],
    [
      'a taint that an administrator sets, and required taints of roles and agents',
      'TaintPolicy',
      {
        mode: 'Deny',
        taints: [
          { key: 'node.kubernetes.io/out-of-service' },
          { key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule', ensure: 'Always' },
          { key: 'node.cilium.io/agent-not-ready', effect: 'NoSchedule', ensure: 'Always' },
          { key: 'node.kubernetes.io/windows', effect: 'NoSchedule', ensure: 'Always' },
        ],
      },
    ],
    [
      'two rules that set one taint, of which one leaves the value open',
      'TaintPolicy',
      {
        mode: 'Deny',
        taints: [
          { key: 'a', value: 'x', effect: 'NoSchedule', ensure: 'Always' },
          { key: 'a', effect: 'NoSchedule', ensure: 'Always' },
        ],
      },
    ],
    [
      'a domain of the greatest length',
      'TolerationRestriction',
      { mode: 'Audit', taints: [{ key: `${'a'.repeat(253)}/b` }] },
    ],
    ['the smallest TolerationPolicy', 'TolerationPolicy', { mode: 'Audit', daemonSets }],
    [
      'every field of a TolerationPolicy',
      'TolerationPolicy',
      {
        mode: 'Mutate',
        daemonSets: { namespaces: ['*'], names: ['cilium*'], selector: {} },
        tolerations: [{ operator: 'Exists' }, { key: 'a', value: 'b', effect: 'NoExecute', tolerationSeconds: 30 }],
        existing: 'Report',
      },
    ],
  ])('%s', (_why, kind, spec) => {
    expect(problemsOf(manifest(kind, 'p', spec))).toEqual([]);
  });

  it('the fields that kubectl adds to an object', () => {
    const object = {
      ...manifest('TaintPolicy', 'p', { mode: 'Deny', taints }),
      metadata: { name: 'p', uid: 'u', resourceVersion: '1', annotations: { a: 'b' } },
      status: { anything: true },
    };
    expect(problemsOf(object)).toEqual([]);
  });
});

describe('parsePolicy reports each problem with its field', () => {
  it.each<[why: string, value: unknown, problems: string[]]>([
    [
      'no object',
      5,
      [': expected kind TaintPolicy, TolerationPolicy, TolerationRestriction or RecoveryPolicy, got nothing'],
    ],
    [
      'null',
      null,
      [': expected kind TaintPolicy, TolerationPolicy, TolerationRestriction or RecoveryPolicy, got nothing'],
    ],
    [
      'another kind',
      { kind: 'Pod' },
      ['kind: expected kind TaintPolicy, TolerationPolicy, TolerationRestriction or RecoveryPolicy, got "Pod"'],
    ],
    [
      'a RecoveryPolicy with a mode of another kind',
      manifest('RecoveryPolicy', 'p', { daemonSets, mode: 'Mutate' }),
      ['spec.mode: expected Recover or Audit, got "Mutate"'],
    ],
    [
      'another version',
      { ...manifest('TaintPolicy', 'p', { mode: 'Deny', taints }), apiVersion: 'taintkeeper.dev/v2' },
      ['apiVersion: expected taintkeeper.dev/v1alpha1, got "taintkeeper.dev/v2"'],
    ],
    [
      'no spec',
      { apiVersion: 'taintkeeper.dev/v1alpha1', kind: 'TaintPolicy', metadata: { name: 'p' } },
      [': spec is missing'],
    ],
    ['an empty spec', manifest('TaintPolicy', 'p', {}), ['spec: mode is missing', 'spec: taints is missing']],
    [
      'a mode of the other kind',
      manifest('TaintPolicy', 'p', { mode: 'Mutate', taints }),
      ['spec.mode: expected Deny or Restore or Audit, got "Mutate"'],
    ],
    [
      'a misspelt field',
      manifest('TaintPolicy', 'p', {
        mode: 'Deny',
        taints: [{ key: 'a', efect: 'NoSchedule' }],
      }),
      ['spec.taints[0].efect: unknown field; known here: key, except, value, effect, ensure, readyWhen, afterReboot'],
    ],
    [
      'no taints',
      manifest('TaintPolicy', 'p', { mode: 'Deny', taints: [] }),
      ['spec.taints: must not have fewer than 1 items, got a list'],
    ],
    [
      'a taint that is no map',
      manifest('TaintPolicy', 'p', { mode: 'Deny', taints: ['a'] }),
      ['spec.taints[0]: expected a map, got "a"'],
    ],
    [
      'a key that is no key',
      manifest('TaintPolicy', 'p', { mode: 'Deny', taints: [{ key: 'a b' }] }),
      [expect.stringContaining('spec.taints[0].key: "a b" is not allowed here') as unknown as string],
    ],
    [
      'a key that no taint can have',
      manifest('TaintPolicy', 'p', { mode: 'Deny', taints: [{ key: 'a/b/c' }] }),
      [
        'spec.taints[0].key: expected a taint key, NAME or DOMAIN/NAME, or DOMAIN/* for all keys of a domain, got "a/b/c"',
      ],
    ],
    [
      'a pattern for taints that operators set and remove',
      manifest('TaintPolicy', 'p', { mode: 'Deny', taints: [{ key: 'readiness.k8s.io/*' }] }),
      [
        'spec.taints[0].key: "readiness.k8s.io/*" protects nothing: DOMAIN/* never covers taints that Kubernetes or an agent sets and removes, so name an exact key',
      ],
    ],
    [
      'a label that no node can have',
      manifest('TaintPolicy', 'p', { mode: 'Deny', taints, nodeSelector: { matchLabels: { 'po ol': 'x' } } }),
      ['spec.nodeSelector.matchLabels["po ol"]: expected a label key, NAME or DOMAIN/NAME, got "po ol"'],
    ],
    [
      'a key whose domain is too long for a node',
      manifest('TaintPolicy', 'p', { mode: 'Deny', taints: [{ key: LONG_KEY }] }),
      [expect.stringContaining('spec.taints[0].key: expected a taint key') as unknown as string],
    ],
    ...(
      [
        ['TolerationRestriction', { mode: 'Audit', taints: [{ key: 'a' }, { key: LONG_KEY }] }, 'spec.taints[1]'],
        [
          'TolerationPolicy',
          { mode: 'Audit', daemonSets, tolerations: [{ key: LONG_KEY, operator: 'Exists' }] },
          'spec.tolerations[0]',
        ],
        [
          'TaintPolicy',
          { mode: 'Deny', taints, nodeSelector: { matchExpressions: [{ key: LONG_KEY, operator: 'Exists' }] } },
          'spec.nodeSelector.matchExpressions[0]',
        ],
      ] as const
    ).map(([kind, spec, at]): [string, unknown, string[]] => [
      `a key of a ${kind} whose domain is too long, of which the beginning is shown`,
      manifest(kind, 'p', spec),
      [`${at}.key: expected at most 253 characters before the slash, got "${'a'.repeat(59)}…`],
    ]),
    [
      'a text that is just short enough to be shown',
      manifest('TaintPolicy', 'p', { mode: 'x'.repeat(58), taints }),
      [`spec.mode: expected Deny or Restore or Audit, got "${'x'.repeat(58)}"`],
    ],
    [
      'a number that is none',
      untilReady({ progressDeadlineSeconds: 'x' }),
      ['spec.taints[0].readyWhen.progressDeadlineSeconds: expected a whole number, got "x"'],
    ],
    [
      'a number out of bounds',
      untilReady({ progressDeadlineSeconds: 0 }),
      ['spec.taints[0].readyWhen.progressDeadlineSeconds: must be >= 1, got 0'],
    ],
    [
      'a startup taint without effect, and without what it waits for',
      manifest('TaintPolicy', 'p', { mode: 'Deny', taints: [{ key: 'a', ensure: 'UntilReady' }] }),
      [
        'spec.taints[0]: ensure needs an effect: add NoSchedule, PreferNoSchedule or NoExecute',
        'spec.taints[0].readyWhen: ensure: UntilReady needs readyWhen, and no other rule has it',
      ],
    ],
    [
      'readiness for a taint that is always there',
      manifest('TaintPolicy', 'p', {
        mode: 'Deny',
        taints: [
          {
            key: 'a',
            effect: 'NoSchedule',
            ensure: 'Always',
            readyWhen: { daemonSets: [{ namespace: 'kube-system', name: 'cni' }] },
          },
        ],
      }),
      ['spec.taints[0].readyWhen: ensure: UntilReady needs readyWhen, and no other rule has it'],
    ],
    [
      'more labels than a CRD may allow',
      manifest('TaintPolicy', 'p', {
        mode: 'Deny',
        taints,
        nodeSelector: { matchLabels: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`a${i}`, 'x'])) },
      }),
      ['spec.nodeSelector.matchLabels: must not have more than 64 properties, got a map'],
    ],
    [
      'an Audit policy that would refuse',
      manifest('TaintPolicy', 'p', { mode: 'Audit', taints, failurePolicy: 'Fail' }),
      ['spec.failurePolicy: an Audit policy refuses nothing: leave failurePolicy out'],
    ],
    [
      'twelve things at once',
      manifest('TaintPolicy', 'p', {
        mode: 'Deny',
        taints: Array.from({ length: 12 }, () => ({ key: 5 })),
      }),
      Array.from({ length: 12 }, (_, index) => `spec.taints[${index}].key: expected a string, got 5`),
    ],
    [
      'a required taint by pattern',
      manifest('TaintPolicy', 'p', { mode: 'Deny', taints: [{ key: 'a/*', effect: 'NoSchedule', ensure: 'Always' }] }),
      ['spec.taints[0].key: ensure needs a key without "*", because taintkeeper sets the taint'],
    ],
    [
      'a required taint without effect',
      manifest('TaintPolicy', 'p', { mode: 'Deny', taints: [{ key: 'a', ensure: 'Always' }] }),
      ['spec.taints[0]: ensure needs an effect: add NoSchedule, PreferNoSchedule or NoExecute'],
    ],
    [
      'In without values',
      manifest('TaintPolicy', 'p', {
        mode: 'Deny',
        taints,
        nodeSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] },
      }),
      ['spec.nodeSelector.matchExpressions[0]: operators In and NotIn need values'],
    ],
    [
      'NotIn without values, and DoesNotExist with some',
      manifest('TaintPolicy', 'p', {
        mode: 'Deny',
        taints,
        nodeSelector: {
          matchExpressions: [
            { key: 'a', operator: 'NotIn' },
            { key: 'b', operator: 'DoesNotExist', values: ['x'] },
          ],
        },
      }),
      [
        'spec.nodeSelector.matchExpressions[0]: operators In and NotIn need values',
        'spec.nodeSelector.matchExpressions[1].values: operators Exists and DoesNotExist take no values',
      ],
    ],
    [
      'a selector of a RecoveryPolicy without values',
      manifest('RecoveryPolicy', 'p', {
        mode: 'Recover',
        daemonSets: { ...daemonSets, selector: { matchExpressions: [{ key: 'a', operator: 'In' }] } },
      }),
      ['spec.daemonSets.selector.matchExpressions[0]: operators In and NotIn need values'],
    ],
    [
      'a label of a selector that no object can have',
      manifest('TolerationPolicy', 'p', {
        mode: 'Audit',
        daemonSets: { ...daemonSets, selector: { matchExpressions: [{ key: 'a/b/c', operator: 'Exists' }] } },
      }),
      [expect.stringMatching(/^spec\.daemonSets\.selector\.matchExpressions\[0\]\.key: /) as unknown as string],
    ],
    [
      'Exists with values',
      manifest('TolerationPolicy', 'p', {
        mode: 'Audit',
        daemonSets: {
          ...daemonSets,
          selector: { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['x'] }] },
        },
      }),
      ['spec.daemonSets.selector.matchExpressions[0].values: operators Exists and DoesNotExist take no values'],
    ],
    [
      'no namespaces',
      manifest('TolerationPolicy', 'p', { mode: 'Audit', daemonSets: {} }),
      ['spec.daemonSets: namespaces is missing'],
    ],
    [
      'a toleration without key or Exists',
      manifest('TolerationPolicy', 'p', { mode: 'Audit', daemonSets, tolerations: [{ effect: 'NoSchedule' }] }),
      ['spec.tolerations[0]: a toleration without a key needs operator: Exists'],
    ],
    [
      'Exists with a value',
      manifest('TolerationPolicy', 'p', {
        mode: 'Audit',
        daemonSets,
        tolerations: [{ key: 'a', operator: 'Exists', value: 'x' }],
      }),
      ['spec.tolerations[0].value: a toleration with operator Exists takes no value'],
    ],
    [
      'a change of what runs already, in mode Audit',
      manifest('TolerationPolicy', 'p', { mode: 'Audit', daemonSets, existing: 'Patch' }),
      ['spec.existing: an Audit policy changes nothing: use Report, or mode Mutate'],
    ],
    [
      'seconds without NoExecute',
      manifest('TolerationPolicy', 'p', {
        mode: 'Audit',
        daemonSets,
        tolerations: [{ key: 'a', effect: 'NoSchedule', tolerationSeconds: 3 }],
      }),
      ['spec.tolerations[0].tolerationSeconds: tolerationSeconds needs effect: NoExecute'],
    ],
    [
      'a name that is no name',
      { ...manifest('TaintPolicy', 'A_B', { mode: 'Deny', taints }) },
      [expect.stringContaining('metadata.name: "A_B" is not allowed here') as unknown as string],
    ],
  ])('%s', (_why, value, problems) => {
    expect(problemsOf(value)).toEqual(problems);
  });
});

it.each([
  { kind: 'TaintPolicy', spec: { mode: 'Deny', taints }, selects: false },
  { kind: 'TolerationRestriction', spec: { mode: 'Audit', taints: [{ key: 'a' }] }, selects: false },
  { kind: 'TolerationPolicy', spec: { mode: 'Audit', daemonSets }, selects: true },
  { kind: 'RecoveryPolicy', spec: { daemonSets }, selects: true },
])('a $kind selects DaemonSets: $selects', ({ kind, spec, selects }) => {
  const result = parsePolicy(manifest(kind, 'p', spec));
  expect(result.ok && isForDaemonSets(result.policy)).toBe(selects);
});
