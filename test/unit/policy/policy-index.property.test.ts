import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CompiledTaintPolicy } from '../../../src/policy/compiled-taint-policy.ts';
import {
  enforcedAmong,
  enforcedWithoutAuditAmong,
  policiesFor,
  possiblePairs,
  selectingPolicies,
} from '../../../src/policy/policy-index.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import { policySet } from './policies.ts';

const LABELS = ['pool', 'example.com/zone', 'role'];
const VALUES = ['', 'a', 'b'];
const KEYS = ['a', 'b', 'example.com/a', 'example.com/b', 'team.example.com/a', 'other.org/a'];
const PATTERNS = ['example.com/*', 'team.example.com/*', 'other.org/*', 'nothing.org/*'];

const label = fc.constantFrom(...LABELS);
const values = fc.uniqueArray(fc.constantFrom(...VALUES), { minLength: 1 });
const expression = fc.oneof(
  fc.record({ key: label, operator: fc.constantFrom('In' as const, 'NotIn' as const), values }),
  fc.record({ key: label, operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const) }),
);
const labels = fc.dictionary(label, fc.constantFrom(...VALUES));
const nodeSelector = fc.record(
  { matchLabels: labels, matchExpressions: fc.array(expression, { maxLength: 2 }) },
  { requiredKeys: [] },
);
const key = fc.constantFrom(...KEYS, ...PATTERNS);
const spec: fc.Arbitrary<TaintPolicySpec> = fc.record(
  {
    mode: fc.constantFrom('Deny' as const, 'Restore' as const, 'Audit' as const),
    nodeSelector,
    taints: fc.array(fc.record({ key }), { minLength: 1, maxLength: 3 }),
  },
  { requiredKeys: ['mode', 'taints'] },
);

/** The policies p0, p1 and so on. */
function compiled(specs: readonly TaintPolicySpec[], options?: { audit: boolean }): readonly CompiledTaintPolicy[] {
  return policySet({ taint: Object.fromEntries(specs.map((one, n) => [`p${n}`, one])) }, options).taintPolicies;
}

/** Few and many: few are not searched for. */
const policies = fc.array(spec, { maxLength: 24 }).map((specs) => compiled(specs));

const namesOf = (found: readonly CompiledTaintPolicy[]) => found.map(({ name }) => name);

it('the policies that select a node are found, in their order, and as the same list each time', () => {
  fc.assert(
    fc.property(policies, labels, (all, ofNode) => {
      const found = selectingPolicies(all, ofNode);
      expect(namesOf(found)).toEqual(namesOf(all.filter((policy) => policy.selectsNode(ofNode))));
      expect(selectingPolicies(all, { ...ofNode })).toBe(found);
    }),
  );
});

it('every policy that matches a taint is found, in order', () => {
  fc.assert(
    fc.property(policies, fc.constantFrom(...KEYS), (all, of) => {
      const found = policiesFor(all, of);
      const means = ({ protectingRule }: CompiledTaintPolicy) =>
        protectingRule({ key: of, effect: 'NoSchedule' }) !== undefined;
      expect(namesOf(found.filter(means))).toEqual(namesOf(all.filter(means)));
      expect(new Set(found).size).toBe(found.length);
    }),
  );
});

it('no pair is left out that selects a node, and each pair is found once, in their order', () => {
  fc.assert(
    fc.property(policies, labels, (all, ofNode) => {
      const found = possiblePairs(all).map(namesOf);
      const selecting = all.filter((policy) => policy.selectsNode(ofNode));
      const expected = selecting.flatMap((first, place) =>
        selecting.slice(place + 1).map((second) => namesOf([first, second])),
      );
      const isExpected = new Set(expected.map(String));
      expect(found.filter((pair) => isExpected.has(String(pair)))).toEqual(expected);
      expect(new Set(found.map(String)).size).toBe(found.length);
    }),
  );
});

it('policies that require different values of a label are no pair', () => {
  const taints: TaintPolicySpec['taints'] = [{ key: 'a' }];
  const among = (...values: string[]) => ({ matchExpressions: [{ key: 'pool', operator: 'In' as const, values }] });
  const selectors = [among('a'), among('b', 'c'), among('c', 'd'), { matchLabels: { zone: 'a' } }, {}];
  const all = compiled(selectors.map((one) => ({ mode: 'Deny', nodeSelector: one, taints })));
  const found = possiblePairs(all).map((pair) => namesOf(pair).join(' '));
  expect(found).toEqual(['p0 p3', 'p0 p4', 'p1 p2', 'p1 p3', 'p1 p4', 'p2 p3', 'p2 p4', 'p3 p4']);
});

/** Of ten labels, those at the places of the bits: a thousand combinations. */
const combination = (bits: number) =>
  Object.fromEntries(Array.from({ length: 10 }, (_, n) => (bits & (1 << n) ? [[`l${n}`, '']] : [])).flat());

it('the list of one kind of node stays the same while there are others, up to a thousand', () => {
  const taints: TaintPolicySpec['taints'] = [{ key: 'a' }];
  const all = compiled(
    Array.from({ length: 10 }, (_, n) => ({ mode: 'Deny', nodeSelector: { matchLabels: { [`l${n}`]: '' } }, taints })),
  );
  const first = selectingPolicies(all, combination(1));
  for (let bits = 2; bits <= 1_000; bits++) selectingPolicies(all, combination(bits));
  expect(selectingPolicies(all, combination(1))).toBe(first);
  for (let bits = 1_001; bits < 1_023; bits++) selectingPolicies(all, combination(bits));
  expect(selectingPolicies(all, combination(1))).not.toBe(first);
  expect(namesOf(selectingPolicies(all, combination(1)))).toEqual(namesOf(first));
});

it.each(['other.org/a', 'team.example.com/a'])(
  'policies for %s are in their order, also one of a pattern before one of the key',
  (key) => {
    const keys = Array.from({ length: 12 }, (_, n) =>
      n === 1 ? `${key.split('/')[0]}/*` : n === 3 ? key : 'example.com/a',
    );
    const all = compiled(keys.map((one) => ({ mode: 'Deny', taints: [{ key: one }] })));
    expect(namesOf(policiesFor(all, key))).toEqual(['p1', 'p3']);
  },
);

it('policies with other keys are not evaluated if there are many', () => {
  const taintPolicies = compiled(
    Array.from({ length: 200 }, (_, n) => ({
      mode: 'Deny',
      taints: [{ key: `example.com/team-${n}` }, { key: `team-${n}.example.com/*` }],
    })),
  );
  expect(namesOf(policiesFor(taintPolicies, 'example.com/team-7'))).toEqual(['p7']);
  expect(namesOf(policiesFor(taintPolicies, 'team-8.example.com/x'))).toEqual(['p8']);
  // The others differ from a key of a policy, or from its domain, only at the end.
  for (const key of [
    'dedicated',
    'example.com/team-',
    'team-8.example.co',
    'team-8.example.com',
    'team-8.example.comX',
  ]) {
    expect(policiesFor(taintPolicies, key)).toEqual([]);
  }
});

describe('the policies that would be enforced without --audit', () => {
  const specs = (['Audit', 'Deny', 'Restore'] as const).map((mode) => ({ mode, taints: [{ key: 'a' }] }));

  it('are those with a declared mode other than Audit, in that mode', () => {
    const all = compiled(specs, { audit: true });
    expect(enforcedAmong(all)).toEqual([]);
    expect(enforcedWithoutAuditAmong(all).map(({ name, mode }) => [name, mode])).toEqual([
      ['p1', 'Deny'],
      ['p2', 'Restore'],
    ]);
  });

  it('are in the order and with the rank that they have without --audit, the strongest first', () => {
    const declared = (['Restore', 'Deny', 'Audit', 'Deny'] as const).map((mode) => ({ mode, taints: [{ key: 'a' }] }));
    const orderOf = (policies: readonly CompiledTaintPolicy[]) => policies.map(({ name, rank }) => [name, rank]);
    expect(orderOf(enforcedWithoutAuditAmong(compiled(declared, { audit: true })))).toEqual(
      orderOf(enforcedAmong(compiled(declared))),
    );
  });

  it('are the same list as the enforced ones without --audit, so that its indexes are built once', () => {
    const all = compiled(specs);
    expect(enforcedWithoutAuditAmong(all)).toBe(enforcedAmong(all));
    expect(namesOf(enforcedAmong(all))).toEqual(['p1', 'p2']);
  });
});
