import { expect, it } from 'vitest';
import { lettersOf, looksMisspelled } from '../../../src/kubernetes/misspelling.ts';

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
  const [first, second] = [lettersOf(one), lettersOf(other)];
  expect([looksMisspelled(first, second), looksMisspelled(second, first)]).toEqual([expected, expected]);
});

it('lettersOf omits the characters that are not compared', () => {
  expect(lettersOf('Dedi-cated_2.x')).toBe('dedicated2x');
});
