import { describe, expect, it } from 'vitest';
import { problemsOf } from '../../e2e/policy-objects.ts';
import { manifest, policySet } from './policies.ts';

const readyWhen = { daemonSets: [{ namespace: 'kube-system', name: 'cni' }] };
const startup = { key: 'a', effect: 'NoSchedule', ensure: 'UntilReady', readyWhen };
const required = { key: 'a', effect: 'NoSchedule', ensure: 'Always' };

/** The messages themselves are in the reference and in the CRD: here, what leads to which. */
const NEEDS = 'a rule needs ensure, restrict or both';
const NODE_STATE = 'ensure: Always and UntilReady are not allowed for a taint that Kubernetes sets and removes';
const FREE = 'a startup taint must be free to be removed';
const LATER = 'taintkeeper may set the taint after the registration of the node';
const ONLY_NO_SCHEDULE = 'ensure: UntilReady is only for effect NoSchedule';
const ONLY_PATTERN = 'except is only for a key with "*"';
const EVERY_KEY = 'except excludes every key of the rule: narrow except, or delete the rule';

describe('a rule of a TaintPolicy', () => {
  it.each<{ why: string; rule: object; problems: string[] }>([
    { why: 'neither sets nor restricts', rule: { key: 'a' }, problems: [`spec.taints[0]: ${NEEDS}`] },
    { why: 'restricts', rule: { key: 'a', restrict: ['Addition'] }, problems: [] },
    { why: 'sets', rule: required, problems: [] },
    { why: 'sets at registration', rule: { ...required, ensure: 'AtRegistration' }, problems: [] },
    {
      why: 'sets at registration what Kubernetes sets and removes',
      rule: { ...required, key: 'node.kubernetes.io/unschedulable', ensure: 'AtRegistration' },
      problems: [],
    },
    {
      why: 'sets until ready what Kubernetes sets and removes',
      rule: { ...startup, key: 'node.kubernetes.io/unschedulable' },
      problems: [`spec.taints[0].key: ${NODE_STATE}`],
    },
    { why: 'sets, and restricts removal', rule: { ...required, restrict: ['Removal'] }, problems: [] },
    {
      why: 'sets at registration, and restricts removal',
      rule: { ...required, ensure: 'AtRegistration', restrict: ['Removal'] },
      problems: [`spec.taints[0].restrict: ${FREE}`],
    },
    {
      why: 'sets until ready, and restricts removal',
      rule: { ...startup, restrict: ['Removal'] },
      problems: [`spec.taints[0].restrict: ${FREE}`],
    },
    {
      why: 'sets at registration, and restricts addition',
      rule: { ...required, ensure: 'AtRegistration', restrict: ['Addition'] },
      problems: [],
    },
    {
      why: 'sets until ready, and restricts addition',
      rule: { ...startup, restrict: ['Addition'] },
      problems: [`spec.taints[0].restrict: ${LATER}`],
    },
    { why: 'sets until ready', rule: startup, problems: [] },
    {
      why: 'sets until ready with another effect',
      rule: { ...startup, effect: 'NoExecute' },
      problems: [`spec.taints[0].effect: ${ONLY_NO_SCHEDULE}`],
    },
    {
      why: 'excepts some keys of its pattern',
      rule: {
        key: 'example.com/*',
        except: ['example.com/a', 'other.example/*', 'example.com/b*'],
        restrict: ['Removal'],
      },
      problems: [],
    },
    {
      why: 'excepts from an exact key',
      rule: { key: 'a', except: ['b'], restrict: ['Removal'] },
      problems: [`spec.taints[0].except: ${ONLY_PATTERN}`],
    },
    ...['example.com/*', 'example*', '*'].map((except) => ({
      why: `excepts ${except}`,
      rule: { key: 'example.com/*', except: [except], restrict: ['Removal'] },
      problems: [`spec.taints[0].except: ${EVERY_KEY}`],
    })),
  ])('that $why', ({ rule, problems }) => {
    const found = problemsOf(manifest('TaintPolicy', 'p', { mode: 'Deny', taints: [rule] }));
    // Of each, the beginning.
    expect(found.map((text, index) => text.slice(0, problems[index]?.length))).toEqual(problems);
  });

  it.each(['a b', 'a/b/c', `${'x'.repeat(254)}/a`])('names the exception that is no key: %s', (key) => {
    const rule = { key: 'example.com/*', except: ['example.com/a', key], restrict: ['Removal'] };
    expect(problemsOf(manifest('TaintPolicy', 'p', { mode: 'Deny', taints: [rule] }))).toEqual([
      expect.stringMatching(/^spec\.taints\[0\]\.except\[1\]: /),
    ]);
  });
});

it.each([
  { values: ['x', 'y'], contradicts: true },
  { values: ['x', 'x'], contradicts: false },
  { values: [undefined, 'y'], contradicts: false },
])(
  'required taints of one key and effect with the values $values contradict each other: $contradicts',
  ({ values, contradicts }) => {
    const taints = values.map((value) => ({ ...required, ...(value ? { value } : {}) }));
    const found = problemsOf(manifest('TaintPolicy', 'p', { mode: 'Deny', taints }));
    expect(found).toEqual(contradicts ? [expect.stringMatching(/^spec\.taints\[1\]\.value: .*spec\.taints\[0\]/)] : []);
  },
);

it('a key that no taint has is named by its field in the other kinds, too', () => {
  const daemonSets = { namespaces: ['a'] };
  const tolerations = [
    { key: 'a', operator: 'Exists' },
    { key: 'a/b/c', operator: 'Exists' },
  ];
  expect(problemsOf(manifest('TolerationPolicy', 'p', { mode: 'Audit', daemonSets, tolerations }))).toEqual([
    expect.stringMatching(/^spec\.tolerations\[1\]\.key: /),
  ]);
  expect(
    problemsOf(manifest('TolerationRestriction', 'p', { mode: 'Audit', taints: [{ key: 'a' }, { key: 'a/b/c' }] })),
  ).toEqual([expect.stringMatching(/^spec\.taints\[1\]\.key: /)]);
});

it('the taints of a TolerationRestriction say which field they are', () => {
  const set = policySet({ restriction: { p: { mode: 'Deny', taints: [{ key: 'a' }, { key: 'b' }] } } });
  expect(set.tolerationRestrictions[0]?.taints.map(({ key, field }) => [key, field])).toEqual([
    ['a', 'spec.taints[0]'],
    ['b', 'spec.taints[1]'],
  ]);
});

it('a RecoveryPolicy counts in milliseconds', () => {
  const spec = {
    mode: 'Recover' as const,
    daemonSets: { namespaces: ['a'] },
    stuckSeconds: 120,
    budget: { perNode: 3, windowSeconds: 600 },
  };
  expect(policySet({ recovery: { p: spec } }).recoveryPolicies[0]).toMatchObject({
    kind: 'RecoveryPolicy',
    stuckMs: 120_000,
    budget: { limit: 3, windowMs: 600_000 },
  });
});
