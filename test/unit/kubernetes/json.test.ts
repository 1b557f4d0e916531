import { expect, it } from 'vitest';
import { isMapping, valueAt } from '../../../src/kubernetes/json.ts';

it.each([
  { value: {}, is: true },
  { value: Object.create(null), is: true },
  { value: null, is: false },
  { value: undefined, is: false },
  { value: [], is: false },
  { value: 'text', is: false },
  { value: 1, is: false },
])('only an object is a mapping: $value is $is', ({ value, is }) => {
  expect(isMapping(value)).toBe(is);
});

it.each<{ value: unknown; path: (string | number)[]; found: unknown }>([
  { value: 'text', path: [], found: 'text' },
  { value: { spec: { taints: [{ key: 'a' }] } }, path: ['spec', 'taints', 0, 'key'], found: 'a' },
  { value: { spec: null }, path: ['spec'], found: null },
  { value: { spec: null }, path: ['spec', 'taints'], found: undefined },
  { value: { spec: undefined }, path: ['spec', 'taints'], found: undefined },
  { value: {}, path: ['constructor'], found: undefined },
  { value: { spec: 'text' }, path: ['spec', 'length'], found: undefined },
  { value: [], path: [0], found: undefined },
])('the value at a path is that of own properties: $path in $value', ({ value, path, found }) => {
  expect(valueAt(value, path)).toBe(found);
});
