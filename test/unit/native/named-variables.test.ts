import { expect, it } from 'vitest';
import { other } from '../../../src/cel/expression.ts';
import { usedVariables, withVariables } from '../../../src/native/assemble.ts';

it.each([
  ['size(before) > 3', 'size(variables.before) > 3'],
  ['before.exists(t, t.before == "before")', 'variables.before.exists(t, t.before == "before")'],
  ['{"before": before, "\\"before": 1}', '{"before": variables.before, "\\"before": 1}'],
  ['beforehand != before', 'beforehand != variables.before'],
  ['!(t in before)', '!(t in variables.before)'],
])('writes %s as %s', (text, expected) => {
  expect(withVariables(other(text, 0, ['before']))).toBe(expected);
});

it('keeps the variables that are used, by others too', () => {
  const a = { name: 'a', definition: other('object.a', 1) };
  const b = { name: 'b', definition: other('a + 1', 1, ['a']) };
  const c = { name: 'c', definition: other('object.c', 1) };
  expect(usedVariables([a, b, c], [other('b > 1', 1, ['b'])])).toEqual([
    { name: 'a', expression: 'object.a' },
    { name: 'b', expression: 'variables.a + 1' },
  ]);
});
