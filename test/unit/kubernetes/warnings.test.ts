import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { presentableWarnings, WARNING_MAX_LENGTH } from '../../../src/kubernetes/warnings.ts';

describe('presentableWarnings', () => {
  it('does not change short plain text', () => {
    expect(presentableWarnings(['restored taint a:NoSchedule'])).toEqual(['restored taint a:NoSchedule']);
  });

  it('cuts a text that is too long, and marks it with dots', () => {
    const [warning] = presentableWarnings(['x'.repeat(500)]);
    expect(warning).toBe(`${'x'.repeat(WARNING_MAX_LENGTH - 3)}...`);
  });

  it.each([
    { what: 'just fits', text: 'x'.repeat(WARNING_MAX_LENGTH) },
    {
      what: 'fits by its characters, of which each has two UTF-16 units',
      text: '\u{1f600}'.repeat(WARNING_MAX_LENGTH),
    },
  ])('leaves alone what $what', ({ text }) => {
    expect(presentableWarnings([text])).toEqual([text]);
  });

  it('keeps as many texts as are allowed', () => {
    const texts = Array.from({ length: 16 }, (_, index) => `taint ${index}`);
    expect(presentableWarnings(texts)).toEqual(texts);
  });

  it('omits repeated texts', () => {
    expect(presentableWarnings(['a', 'b', 'a'])).toEqual(['a', 'b']);
  });

  it('counts the texts beyond the limit', () => {
    const warnings = presentableWarnings(Array.from({ length: 64 }, (_, index) => `taint ${index}`));
    expect(warnings).toHaveLength(16);
    expect(warnings.at(-1)).toBe('and 49 more');
  });

  it('is always valid in a header: one printable line within the limit', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 200 }), { maxLength: 20 }), (texts) => {
        for (const warning of presentableWarnings(texts)) {
          expect([...warning].length).toBeLessThanOrEqual(WARNING_MAX_LENGTH);
          expect(warning).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u);
        }
      }),
    );
  });
});
