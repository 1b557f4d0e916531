import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { type LabelSelector, type LabelSelectorRequirement, selects } from '../../../src/kubernetes/label-selector.ts';
import {
  formatRequirement,
  formatSelector,
  implies,
  requirementsOf,
  requirementsOfAny,
  satisfiable,
} from '../../../src/kubernetes/selector-overlap.ts';

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
  fc.record(
    {
      key: fc.constantFrom(...KEYS),
      operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const),
      values: fc.constant([]),
    },
    { requiredKeys: ['key', 'operator'] },
  ),
);
const requirements = fc.array(requirement, { maxLength: 5 });
const selector = (matchExpressions: readonly LabelSelectorRequirement[]): LabelSelector => ({ matchExpressions });

test('satisfiable is true if some labels are selected, by trying all', () => {
  fc.assert(
    fc.property(requirements, (all) => {
      expect(satisfiable(all)).toBe(LABELS.some((labels) => selects(selector(all), labels)));
    }),
  );
});

test('implies is true if all labels that one selects are selected by the other, by trying all', () => {
  fc.assert(
    fc.property(requirements, requirements, (one, other) => {
      const expected = LABELS.every((labels) => !selects(selector(one), labels) || selects(selector(other), labels));
      expect(implies(one, other)).toBe(expected);
    }),
  );
});

test('requirementsOfAny: all labels that one of them selects meet the result, and a single selector keeps its requirements', () => {
  fc.assert(
    fc.property(fc.array(requirements, { minLength: 1, maxLength: 4 }), (all) => {
      const selectors = all.map(selector);
      const shared = selector(requirementsOfAny(selectors));
      for (const labels of LABELS) {
        const selected = selectors.some((one) => selects(one, labels));
        if (selected) expect(selects(shared, labels), JSON.stringify({ shared, labels })).toBe(true);
        if (selectors.length === 1) expect(selects(shared, labels)).toBe(selected);
      }
    }),
  );
});

describe('requirementsOfAny', () => {
  const pool = (...values: string[]) => selector([{ key: 'pool', operator: 'In', values }]);
  const linux = { key: 'os', operator: 'In', values: ['linux'] } as const;

  it.each<[what: string, selectors: (LabelSelector | undefined)[], shared: LabelSelectorRequirement[]]>([
    ['none', [], []],
    ['one that selects everything', [pool('a'), undefined], []],
    ['one that asks for another label', [pool('a'), selector([linux])], []],
    ['the same twice', [pool('a'), { matchLabels: { pool: 'a' } }], pool('a').matchExpressions as never],
    ['several values', [pool('b'), pool('a', 'c')], pool('a', 'b', 'c').matchExpressions as never],
    [
      'a value, and that it is there',
      [pool('a'), selector([{ key: 'pool', operator: 'Exists' }])],
      [{ key: 'pool', operator: 'Exists' }],
    ],
    ['a value, and that it is not there', [pool('a'), selector([{ key: 'pool', operator: 'DoesNotExist' }])], []],
    [
      'one label of several',
      [selector([{ key: 'pool', operator: 'In', values: ['a'] }, linux]), selector([linux])],
      [linux],
    ],
    [
      'the same exclusion',
      [1, 2].map(() => selector([{ key: 'pool', operator: 'NotIn', values: ['a'] }])),
      [{ key: 'pool', operator: 'NotIn', values: ['a'] }],
    ],
    [
      'an empty list, which the API server does not keep',
      [selector([{ key: 'pool', operator: 'Exists', values: [] }])],
      [{ key: 'pool', operator: 'Exists' }],
    ],
    [
      'more values than it is worth',
      Array.from({ length: 65 }, (_, index) => pool(`pool-${index}`)),
      [{ key: 'pool', operator: 'Exists' }],
    ],
    [
      'as many values as it is worth',
      Array.from({ length: 64 }, (_, index) => pool(`pool-${index + 10}`)),
      pool(...Array.from({ length: 64 }, (_, index) => `pool-${index + 10}`)).matchExpressions as never,
    ],
    [
      'a value beside an exclusion of the same label, and another value',
      [
        selector([
          { key: 'pool', operator: 'NotIn', values: ['b'] },
          { key: 'pool', operator: 'In', values: ['a'] },
        ]),
        pool('b'),
      ],
      pool('a', 'b').matchExpressions as never,
    ],
    [
      'more labels than it is worth: the first ones',
      [selector(Array.from({ length: 17 }, (_, index) => ({ key: `label-${index}`, operator: 'Exists' })))],
      Array.from({ length: 16 }, (_, index) => ({ key: `label-${index}`, operator: 'Exists' })),
    ],
    [
      'what nothing meets: no list without a value, which the API server refuses',
      [
        selector([
          { key: 'pool', operator: 'Exists' },
          { key: 'pool', operator: 'DoesNotExist' },
        ]),
      ],
      [
        { key: 'pool', operator: 'Exists' },
        { key: 'pool', operator: 'DoesNotExist' },
      ],
    ],
  ])('%s', (_, selectors, shared) => {
    expect(requirementsOfAny(selectors)).toEqual(shared);
  });
});

it('reads matchLabels as requirements', () => {
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

it('formatSelector writes all requirements of a selector, and nothing for an empty one', () => {
  const matchExpressions: LabelSelectorRequirement[] = [{ key: 'spot', operator: 'DoesNotExist' }];
  expect(formatSelector({ matchLabels: { pool: 'gpu' }, matchExpressions })).toBe('pool=gpu,!spot');
  expect(formatSelector({})).toBe('');
});
