import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { type LabelSelector, type LabelSelectorRequirement, selects } from '../../../src/policy/label-selector.ts';
import { formatRequirement, implies, requirementsOf, satisfiable } from '../../../src/policy/selector-overlap.ts';

const KEYS = ['a', 'b'];
const VALUES = ['x', 'y', 'z'];
/** What can be told apart with two keys and three values: none, each of them, and one that no requirement names. */
const LABELS = [undefined, ...VALUES, 'other'].flatMap((a) =>
  [undefined, ...VALUES, 'other'].map((b) => ({
    ...(a === undefined ? {} : { a }),
    ...(b === undefined ? {} : { b }),
  })),
);

const requirement = fc.oneof(
  fc.record({
    key: fc.constantFrom(...KEYS),
    operator: fc.constantFrom('In' as const, 'NotIn' as const),
    values: fc.subarray(VALUES, { minLength: 1 }),
  }),
  fc.record({ key: fc.constantFrom(...KEYS), operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const) }),
);
const requirements = fc.array(requirement, { maxLength: 5 });
const selector = (matchExpressions: readonly LabelSelectorRequirement[]): LabelSelector => ({ matchExpressions });

test('satisfiable: some labels are selected, by trying all', () => {
  fc.assert(
    fc.property(requirements, (all) => {
      expect(satisfiable(all)).toBe(LABELS.some((labels) => selects(selector(all), labels)));
    }),
  );
});

test('implies: all labels that one selects, the other one does, by trying all', () => {
  fc.assert(
    fc.property(requirements, requirements, (one, other) => {
      const expected = LABELS.every((labels) => !selects(selector(one), labels) || selects(selector(other), labels));
      expect(implies(one, other)).toBe(expected);
    }),
  );
});

it('takes matchLabels for requirements', () => {
  expect(
    requirementsOf({ matchLabels: { pool: 'gpu' }, matchExpressions: [{ key: 'x', operator: 'Exists' }] }),
  ).toEqual([
    { key: 'pool', operator: 'In', values: ['gpu'] },
    { key: 'x', operator: 'Exists' },
  ]);
  expect(requirementsOf(undefined)).toEqual([]);
});

describe('formatRequirement', () => {
  it.each<[LabelSelectorRequirement, string]>([
    [{ key: 'pool', operator: 'In', values: ['gpu'] }, 'pool=gpu'],
    [{ key: 'zone', operator: 'In', values: ['a', 'b'] }, 'zone in (a, b)'],
    [{ key: 'pool', operator: 'NotIn', values: ['gpu'] }, 'pool!=gpu'],
    [{ key: 'zone', operator: 'NotIn', values: ['a', 'b'] }, 'zone notin (a, b)'],
    [{ key: 'spot', operator: 'Exists' }, 'spot'],
    [{ key: 'spot', operator: 'DoesNotExist' }, '!spot'],
  ])('%j: %s', (one, text) => {
    expect(formatRequirement(one)).toBe(text);
  });
});
