import { expect, it } from 'vitest';
import { lettersIn, looksMisspelled } from '../../../src/kubernetes/misspelling.ts';

it.each([
  { one: 'dedicated', other: 'dedicated', expected: true },
  { one: 'Dedicated', other: 'dedi-cated', expected: true },
  { one: 'dedicated', other: 'dedicatd', expected: true },
  { one: 'dedicated', other: 'dedicatedd', expected: true },
  { one: 'dedicated', other: 'deidcated', expected: true },
  { one: 'dedicated', other: 'dedicatde', expected: true },
  { one: 'pool-a', other: 'pool-b', expected: false },
  { one: 'pool', other: 'pool1', expected: false },
  { one: 'dedicated', other: 'dexcatedx', expected: false },
  { one: 'abcd', other: 'axcde', expected: false },
  { one: 'abcd', other: 'abdx', expected: false },
  { one: 'abcd', other: 'acxd', expected: false },
  { one: 'abcd', other: 'acbx', expected: false },
  { one: 'abcd', other: 'axbd', expected: false },
  { one: 'abcd', other: 'acbdef', expected: false },
  { one: 'ab', other: 'abcde', expected: false },
])('$one and $other: $expected', ({ one, other, expected }) => {
  expect([looksMisspelled(one, other), looksMisspelled(other, one)]).toEqual([expected, expected]);
});

it('lettersIn leaves out what is not compared', () => {
  expect(lettersIn('dedi-cated_2.x')).toBe(11);
});
