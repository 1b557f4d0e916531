import { expect, it } from 'vitest';
import type { PolicySelector } from '../../../src/policy/selector.ts';
import { parseSelector } from '../../../src/policy/selector.ts';

it.each<{ text: string; why?: string; selector: PolicySelector }>([
  { text: 'pool=gpu', selector: { matchLabels: { pool: 'gpu' } } },
  { text: 'pool==gpu', selector: { matchLabels: { pool: 'gpu' } } },
  { text: 'pool=', selector: { matchLabels: { pool: '' } } },
  { text: ' pool = gpu , example.com/tier=1 ', selector: { matchLabels: { pool: 'gpu', 'example.com/tier': '1' } } },
  { text: 'pool!=cpu', selector: { matchExpressions: [{ key: 'pool', operator: 'NotIn', values: ['cpu'] }] } },
  { text: 'pool', selector: { matchExpressions: [{ key: 'pool', operator: 'Exists' }] } },
  { text: '!pool', selector: { matchExpressions: [{ key: 'pool', operator: 'DoesNotExist' }] } },
  {
    text: 'pool in (gpu, tpu),zone notin (a),!spot,tier=1',
    selector: {
      matchLabels: { tier: '1' },
      matchExpressions: [
        { key: 'pool', operator: 'In', values: ['gpu', 'tpu'] },
        { key: 'zone', operator: 'NotIn', values: ['a'] },
        { key: 'spot', operator: 'DoesNotExist' },
      ],
    },
  },
  {
    text: 'pool=a,pool=b',
    why: 'both must hold, though no label can do that',
    selector: { matchLabels: { pool: 'a' }, matchExpressions: [{ key: 'pool', operator: 'In', values: ['b'] }] },
  },
  { text: 'constructor=x', selector: { matchLabels: { constructor: 'x' } } },
])('reads $text', ({ text, selector }) => {
  expect(parseSelector(text)).toEqual({ ok: true, selector });
});

it.each([
  { text: '', problem: 'KEY=VALUE' },
  { text: ',', problem: 'KEY=VALUE' },
  { text: 'pool=gpu tier=1', problem: 'KEY=VALUE' },
  { text: 'pool=gpu,,tier=1', problem: 'KEY=VALUE' },
  // As labels.Parse has it: a comma promises another requirement.
  { text: 'pool=gpu,', problem: 'KEY=VALUE' },
  { text: 'pool in (gpu),', problem: 'KEY=VALUE' },
  { text: 'pool in (gpu), ', problem: 'KEY=VALUE' },
  { text: '!pool,', problem: 'KEY=VALUE' },
  { text: 'pool in gpu', problem: 'KEY=VALUE' },
  { text: 'pool in (gpu', problem: 'KEY=VALUE' },
  { text: 'pool=-gpu', problem: '"-gpu" is no label value' },
  { text: 'Example.com/pool=gpu', problem: 'label key' },
  { text: 'a=b,__proto__=x', problem: 'label key' },
  { text: 'pool>1', problem: 'label key' },
])('does not take "$text" for a selector', ({ text, problem }) => {
  const result = parseSelector(text);
  expect(result).toEqual({ ok: false, problem: expect.stringContaining(problem) });
});

// A backtracking expression took hours for this.
it('does not ponder on twenty thousand blanks', () => {
  expect(parseSelector(`${' '.repeat(20_000)}(`).ok).toBe(false);
});
