import { expect, it } from 'vitest';
import { bind, cel, type Expression, reference, type Variable } from '../../../src/cel/expression.ts';
import { exists } from '../../../src/cel/lists.ts';
import { mutating, usedVariables, written } from '../../../src/native/assemble.ts';

const before = reference('before');
const BEFORE = { name: 'before', definition: cel(1)`object.before` };

it.each<[inline: string, inPolicy: string, expression: Expression]>([
  ['size(before) > 3', 'size(variables.before) > 3', cel(1)`size(${before}) > 3`],
  [
    'before.exists(t, t.before == "before")',
    'variables.before.exists(t, t.before == "before")',
    exists(before, 't', cel(1)`t.before == "before"`),
  ],
  [
    '{"before": before, "\\"before": 1}',
    '{"before": variables.before, "\\"before": 1}',
    cel(1)`{"before": ${before}, "\\"before": 1}`,
  ],
  ['beforehand != before', 'beforehand != variables.before', cel(1)`beforehand != ${before}`],
  ['!(t in before)', '!(t in variables.before)', cel(1)`!(t in ${before})`],
  [
    '[object.before].exists(before,\nbefore != after)',
    '[object.before].exists(before,\nbefore != variables.after)',
    bind([BEFORE], cel(1)`${BEFORE} != ${reference('after')}`),
  ],
])('writes %s as %s', (inline, inPolicy, expression) => {
  expect([expression.text, written(expression)]).toEqual([inline, inPolicy]);
});

it('keeps the variables that are used, by others too', () => {
  const a = { name: 'a', definition: cel(1)`object.a` };
  const b = { name: 'b', definition: cel(1)`${a} + 1` };
  const c = { name: 'c', definition: cel(1)`object.c` };
  expect(usedVariables([a, b, c], [cel(1)`${b} > 1`])).toEqual([
    { name: 'a', expression: 'object.a' },
    { name: 'b', expression: 'variables.a + 1' },
  ]);
});

it.each<[what: string, variables: readonly Variable[]]>([
  ['is not defined', []],
  ['is defined after its use', [{ name: 'size', definition: cel(1)`size(${before})` }, BEFORE]],
])('refuses a variable that %s', (_, variables) => {
  const used = reference(variables[0]?.name ?? 'before');
  expect(() => usedVariables(variables, [used])).toThrow('not defined before it is used: before');
});

it('refuses a match condition with a variable that is not defined', () => {
  const policy = (variables: readonly Variable[]) =>
    mutating({
      ...{ name: 'p', failurePolicy: 'Ignore', resourceRules: [], reinvocationPolicy: 'Never' },
      ...{ variables, mutations: [] },
      conditions: { 'has-taints': cel(1)`size(${before}) > 0` },
    });
  expect(() => policy([])).toThrow('not defined before it is used: before');
  expect(policy([BEFORE])).toHaveLength(1);
});
