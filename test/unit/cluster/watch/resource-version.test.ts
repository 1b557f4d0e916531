import { expect, it } from 'vitest';
import { compareResourceVersions } from '../../../../src/cluster/watch/resource-version.ts';

it.each([
  { one: '5', other: '5', expected: 0, why: 'the same' },
  { one: '9', other: '10', expected: -1, why: 'numbers, not texts' },
  { one: '10', other: '9', expected: 1, why: 'numbers, not texts' },
  { one: '0', other: '1', expected: -1, why: 'zero is a version' },
  { one: '18446744073709551614', other: '18446744073709551615', expected: -1, why: 'a double cannot tell them apart' },
  { one: 'a', other: 'a', expected: 0, why: 'the same, whatever it means' },
  { one: 'a', other: 'b', expected: undefined, why: 'an extension API server may use other texts' },
  { one: '07', other: '8', expected: undefined, why: 'not a form that Kubernetes gives an order to' },
  { one: '', other: '8', expected: undefined, why: 'no version' },
])('compares $one with $other: $expected ($why)', ({ one, other, expected }) => {
  const found = compareResourceVersions(one, other);
  expect(found === undefined ? undefined : Math.sign(found)).toBe(expected);
});
