import { describe, expect, it } from 'vitest';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import type { Policy } from '../../../src/policy/policy.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../src/policy/taint-rule.ts';
import { webhookEntries } from '../../../src/webhooks/entries.ts';
import { callsAbout, nodeWith } from './calls-about-nodes.ts';

const policy = (name: string, spec: Partial<TaintPolicySpec>): Policy => ({
  kind: 'TaintPolicy',
  name,
  spec: { mode: 'Deny', failurePolicy: 'Fail', taints: [{ key: 'dedicated', restrict: ['Removal'] }], ...spec },
});
const taint = (key: string, value?: string): Taint => ({ key, value, effect: 'NoSchedule' });
const withTaints = (policies: readonly Policy[]) => {
  const called = callsAbout(policies);
  return (before: readonly Taint[], after: readonly Taint[], { labels = {}, user = 'dev@example.com' } = {}) =>
    called({ operation: 'UPDATE', object: nodeWith(after, labels), oldObject: nodeWith(before, labels) }, user);
};

it('policies with the same nodes keep their own exemptions', () => {
  const update = withTaints([
    policy('a', { exempt: { users: ['ann', 'root'] } }),
    policy('b', { exempt: { users: ['bob', 'root'] } }),
  ]);
  const calls = (user: string) => update([taint('dedicated')], [], { user });
  expect(['ann', 'bob', 'root'].map(calls)).toEqual([['restore', 'protect'], ['restore', 'protect'], ['restore']]);
});

it('a request that fails closed is not judged by the webhook that fails open as well', () => {
  const update = withTaints([
    policy('gpu', { nodeSelector: { matchLabels: { pool: 'gpu' } } }),
    policy('all', { failurePolicy: 'Ignore' }),
  ]);
  const calls = (pool: string) => update([taint('dedicated')], [], { labels: { pool } });
  expect(['gpu', 'cpu'].map(calls)).toEqual([
    ['restore', 'protect'],
    ['restore', 'report'],
  ]);
  // By their keys alone, which is also so in a pool of which that webhook is not told.
  const others = Array.from({ length: 1_000 }, (_, index) => taint(`example.com/${index}`));
  expect(update([taint('dedicated'), ...others], others, { labels: { pool: 'cpu' } })).toEqual(['restore', 'report']);
});

describe('the addition of a restricted taint', () => {
  const policies = [
    policy('required', {
      failurePolicy: 'Ignore',
      removalByAnnotation: 'Forbidden',
      taints: [
        { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' },
        { key: 'any', effect: 'NoSchedule', ensure: 'Always' },
      ],
    }),
    policy('restricted', {
      taints: ['dedicated', 'any', 'other', 'example.com/*'].map((key) => ({ key, restrict: ['Addition'] })),
    }),
  ];

  it.each<{ what: string; before?: Taint[]; after: Taint[]; isProtected: boolean }>([
    { what: 'none of them', after: [taint('free')], isProtected: false },
    { what: 'one that no policy requires', after: [taint('other')], isProtected: true },
    { what: 'one by a pattern', after: [taint('example.com/x')], isProtected: true },
    { what: 'a required one', after: [taint('dedicated', 'gpu')], isProtected: false },
    { what: 'its key with another value', after: [taint('dedicated', 'cpu')], isProtected: true },
    { what: 'a required one whose value is free', after: [taint('any', 'x')], isProtected: false },
    { what: 'the same, without a value', after: [taint('any')], isProtected: false },
    { what: 'another value of it', before: [taint('any', 'x')], after: [taint('any', 'y')], isProtected: true },
    { what: 'no value any more', before: [taint('any', 'x')], after: [taint('any')], isProtected: true },
  ])('is refused or not: $what', ({ before = [], after, isProtected }) => {
    expect(withTaints(policies)(before, after).includes('protect')).toBe(isProtected);
  });
});

/** Policies for one pool each, with a user of their own. */
const many = (count: number, spec: (index: number) => Partial<TaintPolicySpec> = () => ({})) =>
  Array.from({ length: count }, (_, index) =>
    policy(`p${index}`, {
      nodeSelector: { matchLabels: { pool: `pool-${index}` } },
      exempt: { users: [`user-${index}@example.com`] },
      taints: [{ key: `example.com/dedicated-${index}`, restrict: ['Removal', 'Unselection', 'Addition'] }],
      ...spec(index),
    }),
  );

describe('more policies than one expression holds', () => {
  const BOTH = ['restore', 'protect'];
  const POOL = { pool: 'pool-7' };
  const THEIRS = taint('example.com/dedicated-7');
  const OTHER = taint('node.kubernetes.io/not-ready');
  /** Enough patterns that their additions alone are too much for the exact conditions. */
  const teams = Array.from({ length: 10 }, (_, index) => `team-${index}`);

  describe.each([
    { labels: 64, isExact: true },
    { labels: 65, isExact: false },
  ])('that select nodes by $labels labels', ({ labels, isExact }) => {
    const policies = many(200, (index) => ({ nodeSelector: { matchLabels: { [`label-${index % labels}`]: 'x' } } }));
    const changing = (label: string) =>
      callsAbout(policies)({
        operation: 'UPDATE',
        object: nodeWith([OTHER], { 'label-0': 'x', [label]: 'y' }),
        oldObject: nodeWith([OTHER], { 'label-0': 'x' }),
      });

    it('are asked about a change of one of them', () => {
      expect(changing(`label-${labels - 1}`)).toEqual(BOTH);
    });

    it('are not asked about a change of another label, unless they are too many', () => {
      expect(changing('another')).toEqual(isExact ? [] : BOTH);
    });
  });

  it('that select all nodes are not asked about changes of labels', () => {
    const object = nodeWith([THEIRS], POOL);
    const called = callsAbout(many(200, () => ({ nodeSelector: {} })));
    expect(called({ operation: 'UPDATE', object, oldObject: nodeWith([THEIRS]) })).toEqual([]);
  });

  it.each<{ what: string; spec: Partial<TaintPolicySpec>; calls: string[] }>([
    { what: 'that restrict removals', spec: {}, calls: ['restore'] },
    { what: 'in mode Audit', spec: { mode: 'Audit' }, calls: [] },
    {
      what: 'that restrict additions alone',
      spec: { taints: teams.map((team) => ({ key: `${team}.example.com/*`, restrict: ['Addition'] })) },
      calls: [],
    },
  ])('$what, about a new announcement: $calls', ({ spec, calls }) => {
    const oldObject = nodeWith([], POOL);
    const annotations = { 'taintkeeper.dev/allow-removal': 'x' };
    const object = { ...oldObject, metadata: { ...oldObject.metadata, annotations } };
    expect(callsAbout(many(200, () => spec))({ operation: 'UPDATE', object, oldObject })).toEqual(calls);
  });

  it('are asked about changes of their keys', () => {
    const update = withTaints(many(200));
    const changes = (one: Taint) => [update([one], [], { labels: POOL }), update([], [one], { labels: POOL })];
    expect(changes(THEIRS)).toEqual([BOTH, BOTH]);
    expect(changes(OTHER)).toEqual([[], []]);
  });
});

describe('the texts', () => {
  const texts = (policies: readonly Policy[]) =>
    webhookEntries(policies).flatMap(({ name, matchConditions }) =>
      matchConditions.map(({ expression }) => `${name}: ${expression}`),
    );

  it.each([2, 60])('of %d policies do not depend on the order of what they list', (count) => {
    const lists = (index: number, keys: readonly string[]): Partial<TaintPolicySpec> => ({
      removalByAnnotation: 'Forbidden',
      exempt: {},
      taints: [
        ...keys.map((key): TaintRule => ({ key: `${key}-${index}`, restrict: ['Removal', 'Addition', 'Unselection'] })),
        ...keys.map((key): TaintRule => ({ key: `${key}-${index}*`, restrict: ['Removal', 'Addition'] })),
        ...[{ value: 'x' }, {}].flatMap((value, kind) =>
          keys.map((key): TaintRule => {
            return { key: `${key}-${index}-${kind}`, ...value, effect: 'NoSchedule', ensure: 'Always' };
          }),
        ),
      ],
    });
    const found = texts(many(count, (index) => lists(index, ['a', 'b'])));
    expect(found.length).toBeGreaterThan(0);
    expect(texts(many(count, (index) => lists(index, ['b', 'a'])).reverse())).toEqual(found);
  });

  it.each([2, 60])('of %d policies have no lone surrogate, which no API server stores', (count) => {
    const lone = '\ud800';
    const policies = many(count, (index) => ({
      nodeSelector: {
        matchExpressions: [
          { key: 'zone', operator: 'In', values: ['a', lone] },
          { key: `label-${index}`, operator: 'NotIn', values: ['x', lone] },
          { key: `${lone}x`, operator: 'DoesNotExist' },
        ],
      },
      exempt: { users: ['root', lone], groups: [lone] },
    }));
    const found = texts(policies);
    expect(found.length).toBeGreaterThan(0);
    expect(found.filter((text) => !text.isWellFormed())).toEqual([]);
  });
});
