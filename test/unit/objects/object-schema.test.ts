import { Compile } from 'typebox/compile';
import { describe, expect, it } from 'vitest';
import { StringMapSchema } from '../../../src/objects/object-schema.ts';

const check = Compile(StringMapSchema);

describe('a map of strings', () => {
  it.each([
    { value: {}, is: true },
    { value: { a: 'b', c: null }, is: true },
    { value: JSON.parse('{"__proto__":"a"}'), is: true },
    { value: JSON.parse('{"__proto__":{"a":1}}'), is: false },
    { value: { a: 'b', c: 1 }, is: false },
    { value: { 'a key\nof two lines': 1 }, is: false },
    { value: { a: {} }, is: false },
    { value: { a: undefined }, is: false },
    { value: ['a'], is: false },
    { value: [], is: false },
    { value: 'a', is: false },
    { value: null, is: false },
  ])('$value: $is', ({ value, is }) => {
    expect(check.Check(value)).toBe(is);
  });
});
