import { describe, expect, it } from 'vitest';
import { cellsOf, type Figure, isHigher, ratioOf } from '../../../bench/compare/figure.ts';

const figure = (before: readonly number[], after: readonly number[], isLimited = true): Figure => ({
  what: 'start',
  unit: 'ms',
  digits: 0,
  before,
  after,
  isLimited,
});

describe('a figure of two programs', () => {
  it.each([
    { why: 'equal', before: [10, 11, 12], after: [10, 11, 12], higher: false },
    { why: 'higher, within the limit', before: [100, 101, 102], after: [108, 109, 110], higher: false },
    { why: 'far higher, and one round is not', before: [100, 101, 140], after: [130, 131, 132], higher: false },
    { why: 'each round above each earlier one', before: [100, 101, 110], after: [115, 116, 130], higher: true },
    { why: 'lower', before: [200, 210, 220], after: [100, 101, 102], higher: false },
  ])('$why', ({ before, after, higher }) => {
    expect(isHigher(figure(before, after))).toBe(higher);
  });

  it('has the median of the ratios of its rounds, not the ratio of the medians', () => {
    expect(ratioOf(figure([100, 200, 400], [110, 220, 440]))).toBeCloseTo(1.1);
    expect(ratioOf(figure([100, 200, 400], [200, 200, 400]))).toBe(1);
  });

  it.each([
    { limited: true, note: 'too high' },
    { limited: false, note: 'higher' },
  ])('says $note with a limit: $limited', ({ limited, note }) => {
    expect(cellsOf(figure([10, 11, 12], [20, 21, 22], limited))).toEqual([
      'start',
      'ms',
      '11',
      '10-12',
      '21',
      '20-22',
      '1.91',
      note,
    ]);
  });
});
