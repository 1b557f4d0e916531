import { expect, it } from 'vitest';
import { COST_BUDGET, narrowest } from '../../../src/cel/budget.ts';
import { cel, TOO_LONG, TRUE } from '../../../src/cel/expression.ts';

const exact = cel(1)`exact`;
const wider = cel(1)`wider`;
const costly = cel(COST_BUDGET + 1)`costly`;

it.each([
  { why: 'the first that fits', builds: [exact, wider], expected: { expression: exact, widened: 'by 0' } },
  { why: 'none that costs too much', builds: [costly, wider], expected: { expression: wider, widened: 'by 1' } },
  { why: 'none without a text', builds: [TOO_LONG, wider], expected: { expression: wider, widened: 'by 1' } },
  { why: 'the last one, if none fits', builds: [costly, costly], expected: { expression: costly, widened: 'by 1' } },
  {
    why: 'everything, if not even that has a text',
    builds: [TOO_LONG],
    expected: { expression: TRUE, widened: 'by 0' },
  },
])('takes $why', ({ builds, expected }) => {
  const candidates = builds.map((expression, index) => ({ build: () => expression, widened: `by ${index}` }));
  expect(narrowest(candidates)).toEqual(expected);
});
