import { expect, it } from 'vitest';
import { namespaceRequirements } from '../../../src/policy/daemon-set-selection.ts';

const named = (count: number) => Array.from({ length: count }, (_, index) => `n${1_000 + index}`);

it.each([
  { why: 'all of them are named, sorted, each once', namespaces: ['b', 'a', 'b'], values: ['a', 'b'] },
  { why: 'there are as many as one selector can hold', namespaces: named(256), values: named(256) },
  { why: 'there are more than that', namespaces: named(257), values: undefined },
  { why: 'one is a pattern', namespaces: ['a', 'b-*'], values: undefined },
  { why: 'no namespace can have one of the names', namespaces: ['a', 'B'], values: undefined },
])('the values that a selector of namespaces has if $why', ({ namespaces, values }) => {
  const requirement = { key: 'kubernetes.io/metadata.name', operator: 'In', values };
  expect(namespaceRequirements(namespaces)).toEqual(values === undefined ? [] : [requirement]);
});
