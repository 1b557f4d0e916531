import fc from 'fast-check';
import { expect, it } from 'vitest';
import { matchesPattern, patternsOverlap } from '../../../src/kubernetes/pattern.ts';

it.each([
  ['a', 'a', true],
  ['a', 'b', false],
  ['*', '', true],
  ['a*', '*b', true],
  ['a*', 'b*', false],
  ['*/agent-not-ready', 'example.com/*', true],
  ['node.kubernetes.io/*', 'example.com/*', false],
  ['a*c', 'ab*', true],
  ['a*b', 'a', false],
])('patternsOverlap(%j, %j) is %s', (a, b, expected) => {
  expect(patternsOverlap(a, b)).toBe(expected);
  expect(patternsOverlap(b, a)).toBe(expected);
});

it('is true exactly where a text matches both patterns', () => {
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 4 });
  // Two patterns of at most four letters each, if at all, meet in a text of at most eight.
  const texts = [''];
  for (const text of texts) if (text.length < 8) texts.push(`${text}a`, `${text}b`);
  fc.assert(
    fc.property(pattern, pattern, (a, b) => {
      expect(patternsOverlap(a, b)).toBe(texts.some((text) => matchesPattern(a, text) && matchesPattern(b, text)));
    }),
    { numRuns: 500 },
  );
});
