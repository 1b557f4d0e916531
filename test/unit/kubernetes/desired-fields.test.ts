import { describe, expect, it } from 'vitest';
import { exactSelector, hasFields } from '../../../src/kubernetes/desired-fields.ts';

describe('hasFields', () => {
  it.each<{ why: string; actual: unknown; desired: unknown; has: boolean }>([
    { why: 'the same value', actual: 'a', desired: 'a', has: true },
    { why: 'another value', actual: 'a', desired: 'b', has: false },
    { why: 'null', actual: null, desired: null, has: true },
    { why: 'null in place of a map', actual: null, desired: { a: 1 }, has: false },
    { why: 'a text in place of a map', actual: 'text', desired: { length: 4 }, has: false },
    { why: 'a field that the API server adds', actual: { a: 1, b: 2 }, desired: { a: 1 }, has: true },
    { why: 'a field that is missing', actual: { a: 1 }, desired: { a: 1, b: 2 }, has: false },
    { why: 'a field that is not to be there', actual: { a: 1, b: 2 }, desired: { a: 1, b: undefined }, has: false },
    { why: 'a map that wants nothing', actual: {}, desired: {}, has: true },
    { why: 'a list of the same items', actual: [{ a: 1, x: 0 }, 'b'], desired: [{ a: 1 }, 'b'], has: true },
    { why: 'a list of more items', actual: ['a', 'b'], desired: ['a'], has: false },
    { why: 'a list of fewer items', actual: ['a'], desired: ['a', undefined], has: false },
    { why: 'a list in another order', actual: ['a', 'b'], desired: ['b', 'a'], has: false },
    { why: 'a list of which one item differs', actual: ['a', 'b'], desired: ['a', 'c'], has: false },
    { why: 'a map in place of a list', actual: { length: 1, 0: 'a' }, desired: ['a'], has: false },
    { why: 'null in place of a list', actual: null, desired: [], has: false },
  ])('$why: $has', ({ actual, desired, has }) => {
    expect(hasFields(actual, desired)).toBe(has);
  });
});

describe('exactSelector', () => {
  const zone = { key: 'zone', operator: 'Exists' } as const;

  it('does not match a selector to which another writer added a label or a requirement', () => {
    const stored = { matchExpressions: [zone] };
    expect(hasFields(stored, exactSelector([zone]))).toBe(true);
    expect(hasFields({ ...stored, matchLabels: { pool: 'gpu' } }, exactSelector([zone]))).toBe(false);
    expect(hasFields({ matchExpressions: [zone, { ...zone, key: 'pool' }] }, exactSelector([zone]))).toBe(false);
  });

  it('without requirements equals an object that the API server stores without a list', () => {
    expect(hasFields({}, exactSelector([]))).toBe(true);
    expect(hasFields({ matchExpressions: [zone] }, exactSelector([]))).toBe(false);
  });
});
