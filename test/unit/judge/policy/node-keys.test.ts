import { expect, it } from 'vitest';
import { keysOf } from '../../../../src/judge/policy/node-keys.ts';

const carrying = (key: string) => ({
  name: 'n1',
  labels: {},
  taints: [{ key, effect: 'NoSchedule' }],
  allowRemoval: undefined,
});

it.each([
  { one: 'Dedicated', other: 'dedi-cated', is: true },
  { one: 'dedicated', other: 'dedicatd', is: true },
  { one: 'dedicated', other: 'dedicatedd', is: true },
  { one: 'dedicated', other: 'deidcated', is: true },
  { one: 'dedicated', other: 'dedicatde', is: true },
  { one: 'Dedi-cated_2.x', other: 'dedicated2x', is: true },
  { one: 'pool-a', other: 'pool-b', is: false },
  { one: 'pool', other: 'pool1', is: false },
  { one: 'dedicated', other: 'dexcatedx', is: false },
  { one: 'abcd', other: 'axcde', is: false },
  { one: 'abcd', other: 'abdx', is: false },
  { one: 'abcd', other: 'acxd', is: false },
  { one: 'abcd', other: 'acbx', is: false },
  { one: 'abcd', other: 'axbd', is: false },
  { one: 'abcd', other: 'acbdef', is: false },
  { one: 'ab', other: 'abcde', is: false },
])('one of $one and $other looks like a misspelling of the other: $is', ({ one, other, is }) => {
  const meant = (key: string, known: string) => keysOf([carrying(known)]).taint.meantBy(key);
  expect([meant(one, other), meant(other, one)]).toEqual(is ? [other, one] : [undefined, undefined]);
});

it('a node without resources adds none to the keys that are compared', () => {
  const resources = Array.from({ length: 2_000 }, (_, index) => `example.com/r-${index}`);
  const { resource } = keysOf([carrying('a'), { ...carrying('a'), resources }]);
  expect(resource.lacks('example.com/other')).toBe(true);
});
