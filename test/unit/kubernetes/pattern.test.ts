import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { matchesPattern } from '../../../src/kubernetes/pattern.ts';

describe('matchesPattern', () => {
  it.each<[pattern: string, text: string, yes: boolean]>([
    ['abc', 'abc', true],
    ['abc', 'abcd', false],
    ['*', '', true],
    ['*', 'anything', true],
    ['example.com/*', 'example.com/gpu', true],
    ['example.com/*', 'example.com/', true],
    ['example.com/*', 'example.comx/gpu', false],
    ['*-agent', 'cilium-agent', true],
    ['*-agent', 'cilium-agents', false],
    ['a*b*c', 'a-b-c', true],
    ['a*b*c', 'a-c-b', false],
    ['ab*ba', 'aba', false],
    ['a*ba*ab', 'abab', false],
    ['**', 'x', true],
    ['a*b*', 'ab', true],
    ['a*b*c', 'abc', true],
    ['*b*c', 'bc', true],
    ['a.c', 'abc', false],
    ['system:serviceaccount:*:autoscaler', 'system:serviceaccount:kube-system:autoscaler', true],
  ])('%s against %s: %o', (pattern, text, yes) => {
    expect(matchesPattern(pattern, text)).toBe(yes);
  });

  it('agrees with a regular expression', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 8 });
    const text = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 12 });
    fc.assert(
      fc.property(word, text, (pattern, subject) => {
        const expression = new RegExp(`^${pattern.replaceAll(/\*+/g, '.*')}$`);
        expect(matchesPattern(pattern, subject)).toBe(expression.test(subject));
      }),
    );
  });

  it('searches a text once for each part of the pattern, and never goes back', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 60 });
    const subject = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 200 });
    fc.assert(
      fc.property(word, subject, (pattern, text) => {
        const search = vi.spyOn(String.prototype, 'indexOf');
        const match = vi.spyOn(RegExp.prototype, 'exec');
        try {
          matchesPattern(pattern, text);
          const starts = search.mock.calls.map(([, from]) => from ?? 0);
          expect(starts.length).toBeLessThan(pattern.split('*').length);
          expect(starts).toEqual(starts.toSorted((a, b) => a - b));
          expect(match).not.toHaveBeenCalled();
        } finally {
          vi.restoreAllMocks();
        }
      }),
    );
  });

  it('needs little time for a pattern that makes backtracking slow', () => {
    expect(matchesPattern(`${'a*'.repeat(120)}b`, 'a'.repeat(100_000))).toBe(false);
  });
});
