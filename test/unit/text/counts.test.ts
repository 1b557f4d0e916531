import { expect, it } from 'vitest';
import { count } from '../../../src/text/counts.ts';

it.each([
  { number: 0, text: '0 nodes' },
  { number: 1, text: '1 node' },
  { number: 2, text: '2 nodes' },
])('count: $text', ({ number, text }) => {
  expect(count(number, 'node')).toBe(text);
});
