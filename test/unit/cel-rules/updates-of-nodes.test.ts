import { describe, expect, it } from 'vitest';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import type { Policy } from '../../../src/policy/policy.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../src/policy/taint-rule.ts';
import { webhookEntries } from '../../../src/webhooks/webhook-entries.ts';
import { callsAbout, nodeWith } from './calls-about-nodes.ts';

const policy = (name: string, spec: Partial<TaintPolicySpec>): Policy => ({
  kind: 'TaintPolicy',
  name,
  spec: { mode: 'Deny', failurePolicy: 'Fail', taints: [{ key: 'dedicated' }], ...spec },
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
  expect(['gpu', 'cpu'].map(calls)).toEqual([['protect'], ['report']]);
  // By their keys alone, which is also so in a pool of which that webhook is not told.
  const others = Array.from({ length: 1_000 }, (_, index) => taint(`example.com/${index}`));
  expect(update([taint('dedicated'), ...others], others, { labels: { pool: 'cpu' } })).toEqual(['restore', 'report']);
});

describe('a change to the value that a policy requires', () => {
  const requiring = (more: Partial<TaintPolicySpec> = {}) =>
    policy('required', {
      failurePolicy: 'Ignore',
      taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' }],
      ...more,
    });

  const inPool = (pool: string) => ({ nodeSelector: { matchLabels: { pool } } });
  const DOMAIN: TaintRule = { key: 'example.com/*' };
  const requiringInDomain = (key: string) =>
    requiring({ taints: [{ key, value: 'gpu', effect: 'NoSchedule', ensure: 'Always' }] });

  it.each<{ what: string; policies: Policy[]; before: Taint; after: Taint[]; isProtected: boolean }>([
    {
      what: 'is no removal',
      policies: [requiring(), policy('other', {})],
      before: taint('dedicated', 'cpu'),
      after: [taint('dedicated', 'gpu')],
      isProtected: false,
    },
    {
      what: 'is no removal where another policy protects the domain',
      policies: [requiringInDomain('example.com/a'), policy('other', { taints: [DOMAIN] })],
      before: taint('example.com/a', 'cpu'),
      after: [taint('example.com/a', 'gpu')],
      isProtected: false,
    },
    {
      what: 'is no removal where a policy for other nodes requires another value',
      policies: [
        policy('cpu', {
          ...inPool('cpu'),
          failurePolicy: 'Ignore',
          taints: [{ key: 'dedicated', value: 'cpu', effect: 'NoSchedule', ensure: 'Always' }],
        }),
        requiring({ nodeSelector: { matchExpressions: [{ key: 'pool', operator: 'DoesNotExist' }] } }),
        policy('other', {}),
      ],
      before: taint('dedicated', 'cpu'),
      after: [taint('dedicated', 'gpu')],
      isProtected: false,
    },
    {
      what: 'is one to another value',
      policies: [requiring(), policy('other', {})],
      before: taint('dedicated', 'cpu'),
      after: [taint('dedicated', 'tpu')],
      isProtected: true,
    },
    {
      what: 'is one where the policy only reports',
      policies: [requiring({ mode: 'Audit' }), policy('other', {})],
      before: taint('dedicated', 'cpu'),
      after: [taint('dedicated', 'gpu')],
      isProtected: true,
    },
    {
      what: 'is one where the policy is for other nodes',
      policies: [requiring({ nodeSelector: { matchLabels: { a: 'b' } } }), policy('other', {})],
      before: taint('dedicated', 'cpu'),
      after: [taint('dedicated', 'gpu')],
      isProtected: true,
    },
    {
      what: 'is one of the taint with another effect',
      policies: [requiring(), policy('other', {})],
      before: { ...taint('dedicated', 'cpu'), effect: 'NoExecute' },
      after: [taint('dedicated', 'gpu')],
      isProtected: true,
    },
  ])('$what', ({ policies, before, after, isProtected }) => {
    expect(withTaints(policies)([before], after).includes('protect')).toBe(isProtected);
  });
});

describe('a change of labels that makes a policy select the node', () => {
  const required: TaintRule = { key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' };
  const called = (spec: Partial<TaintPolicySpec>, taints: readonly Taint[], user?: string) =>
    callsAbout([policy('p', { nodeSelector: { matchLabels: { pool: 'gpu' } }, taints: [required], ...spec })])(
      { operation: 'UPDATE', object: nodeWith(taints, { pool: 'gpu' }), oldObject: nodeWith(taints, {}) },
      user,
    );

  it('is asked about if the node lacks a required taint, and only then', () => {
    expect(called({}, [])).toEqual(['restore']);
    expect(called({}, [taint('dedicated', 'x')])).toEqual([]);
    expect(called({ mode: 'Audit', failurePolicy: 'Ignore' }, [])).toEqual([]);
    expect(called({ taints: [{ ...required, effect: 'NoExecute' }] }, [])).toEqual([]);
    expect(called({ taints: [{ ...required, ensure: 'AtRegistration' }] }, [])).toEqual([]);
    expect(called({ nodeSelector: {} }, [])).toEqual([]);
  });
});

it('a new node needs the taints of the policies that select it, and of no other', () => {
  const called = callsAbout(
    ['cpu', 'gpu'].map((pool) =>
      policy(pool, {
        nodeSelector: { matchLabels: { pool } },
        taints: [{ key: pool, effect: 'NoSchedule', ensure: 'Always' }],
      }),
    ),
  );
  const calls = (key: string) =>
    called({ operation: 'CREATE', object: nodeWith([taint(key)], { pool: 'gpu' }), oldObject: null });
  expect([calls('gpu'), calls('cpu')]).toEqual([[], ['register', 'report-registration']]);
});

/** Policies for one pool each, with a user of their own. */
const many = (count: number, spec: (index: number) => Partial<TaintPolicySpec> = () => ({})) =>
  Array.from({ length: count }, (_, index) =>
    policy(`p${index}`, {
      nodeSelector: { matchLabels: { pool: `pool-${index}` } },
      exempt: { users: [`user-${index}@example.com`] },
      taints: [{ key: `example.com/dedicated-${index}` }],
      ...spec(index),
    }),
  );

describe('more policies than one expression holds', () => {
  const BOTH = ['restore', 'protect'];
  const POOL = { pool: 'pool-7' };
  const THEIRS = taint('example.com/dedicated-7');
  const OTHER = taint('node.kubernetes.io/not-ready');

  describe.each([
    { labels: 64, isExact: true },
    { labels: 65, isExact: false },
  ])('that select nodes by $labels labels', ({ labels, isExact }) => {
    const policies = many(200, (index) => ({
      nodeSelector: { matchLabels: { [`label-${index % labels}`]: 'x' } },
      taints: [{ key: `example.com/dedicated-${index}`, effect: 'NoSchedule', ensure: 'Always' }],
    }));
    const changing = (label: string) =>
      callsAbout(policies)({
        operation: 'UPDATE',
        object: nodeWith([OTHER], { 'label-0': 'x', [label]: 'y' }),
        oldObject: nodeWith([OTHER], { 'label-0': 'x' }),
      });

    it('are asked about a change of one of them', () => {
      expect(changing(`label-${labels - 1}`)).toEqual(['restore']);
    });

    it('are not asked about a change of another label, unless they are too many', () => {
      expect(changing('another')).toEqual(isExact ? [] : ['restore']);
    });
  });

  it('are not asked about a change of the label by which a policy without required taints selects nodes', () => {
    const required = many(200, (index) => ({
      taints: [{ key: `example.com/dedicated-${index}`, effect: 'NoSchedule', ensure: 'Always' }],
    }));
    const others = [
      policy('protects', { nodeSelector: { matchLabels: { zone: 'a' } } }),
      policy('evicts', {
        nodeSelector: { matchLabels: { rack: 'a' } },
        taints: [{ key: 'dedicated', effect: 'NoExecute', ensure: 'Always' }],
      }),
    ];
    const called = callsAbout([...required, ...others]);
    const changing = (labels: Record<string, string>) =>
      called({ operation: 'UPDATE', object: nodeWith([OTHER], labels), oldObject: nodeWith([OTHER]) });
    expect([{ zone: 'a' }, { rack: 'a' }, POOL].map(changing)).toEqual([[], [], ['restore']]);
  });

  it('that select all nodes are not asked about changes of labels', () => {
    const object = nodeWith([THEIRS], POOL);
    const called = callsAbout(many(200, () => ({ nodeSelector: {} })));
    expect(called({ operation: 'UPDATE', object, oldObject: nodeWith([THEIRS]) })).toEqual([]);
  });

  it('are not asked about the annotation', () => {
    const oldObject = nodeWith([], POOL);
    const annotations = { 'taintkeeper.dev/allow-removal': 'x' };
    const object = { ...oldObject, metadata: { ...oldObject.metadata, annotations } };
    expect(callsAbout(many(200))({ operation: 'UPDATE', object, oldObject })).toEqual([]);
  });

  it.each([200, 1_000])('are asked about changes of their keys: %d policies', (count) => {
    const update = withTaints(many(count));
    const changes = (one: Taint) => [update([one], [], { labels: POOL }), update([], [one], { labels: POOL })];
    expect(changes(THEIRS)).toEqual([BOTH, []]);
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
        ...keys.map((key): TaintRule => ({ key: `${key}-${index}` })),
        ...keys.map((key): TaintRule => ({ key: `${key}-${index}.example.com/*` })),
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

  it('of mutation do not depend on exemptions: policies with the same nodes share one condition', () => {
    const restoring = (exempt: NonNullable<TaintPolicySpec['exempt']>) => [
      policy('a', { mode: 'Restore', taints: [{ key: 'a' }] }),
      policy('b', { mode: 'Restore', taints: [{ key: 'b' }], exempt }),
    ];
    const mutation = (policies: readonly Policy[]) => texts(policies).filter((text) => text.startsWith('restore.'));
    const found = mutation(restoring({ users: ['bob'] }));
    expect(found).toHaveLength(1);
    expect(found).toEqual(mutation(restoring({})));
  });

  it.each([2, 60, 200])('of %d policies have no lone surrogate, which no API server stores', (count) => {
    const lone = '\ud800';
    const policies = many(count, (index) => ({
      nodeSelector: {
        matchExpressions: [
          { key: 'zone', operator: 'In', values: ['a', lone] },
          { key: 'zone', operator: 'NotIn', values: [lone] },
          { key: `label-${index % 40}`, operator: 'NotIn', values: ['x', lone] },
          { key: `${lone}x`, operator: 'DoesNotExist' },
        ],
      },
      exempt: { users: ['root', lone], groups: [lone] },
      taints: [{ key: `example.com/dedicated-${index}`, effect: 'NoSchedule', ensure: 'Always' }],
    }));
    const found = texts(policies);
    expect(found.length).toBeGreaterThan(0);
    expect(found.filter((text) => !text.isWellFormed())).toEqual([]);
  });
});
