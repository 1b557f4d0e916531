import { expect, it } from 'vitest';
import { withinBudget } from '../../../src/collections/within-budget.ts';

it.each([
  { why: 'all that fit exactly', items: ['aa', 'b'], most: 3, kept: ['aa', 'b'] },
  { why: 'no small one after one that does not fit', items: ['a', 'bbb', 'c'], most: 3, kept: ['a'] },
  { why: 'none if the first one does not fit', items: ['aaaa', ''], most: 3, kept: [] },
])('withinBudget keeps the first items: $why', ({ items, most, kept }) => {
  expect(withinBudget(items, most, ({ length }) => length)).toEqual(kept);
});
