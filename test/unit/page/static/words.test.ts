import { expect, it } from 'vitest';
import { ago, counted, localTime } from '../../../../src/page/static/words.js';

it.each([
  [-3_000, 'now', 'the clocks of two machines differ'],
  [999, 'now', ''],
  [1_000, '1 s ago', ''],
  [59_999, '59 s ago', ''],
  [60_000, '1 min ago', ''],
  [3_599_999, '59 min ago', ''],
  [3_600_000, '1 h ago', ''],
  [47.9 * 3_600_000, '47 h ago', 'a night is counted in hours'],
  [48 * 3_600_000, '2 days ago', ''],
])('%d ms are %s', (ms, words) => {
  expect(ago(ms)).toBe(words);
});

it('counts with a noun that agrees', () => {
  expect([0, 1, 5_000].map((count) => counted(count, 'node'))).toEqual(['0 nodes', '1 node', '5,000 nodes']);
  expect(counted(2, 'policy', 'policies')).toBe('2 policies');
});

it('leaves what is no time as it is', () => {
  expect(localTime('soon')).toBe('soon');
});
