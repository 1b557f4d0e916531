import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { presentableWarnings, printable, WARNING_MAX_LENGTH } from '../../../src/kubernetes/text.ts';

describe('presentableWarnings', () => {
  it('leaves short plain text alone', () => {
    expect(presentableWarnings(['restored taint a:NoSchedule'])).toEqual(['restored taint a:NoSchedule']);
  });

  it('cuts what is too long, and says so', () => {
    const [warning] = presentableWarnings(['x'.repeat(500)]);
    expect(warning).toBe(`${'x'.repeat(WARNING_MAX_LENGTH - 3)}...`);
  });

  it('says nothing twice', () => {
    expect(presentableWarnings(['a', 'b', 'a'])).toEqual(['a', 'b']);
  });

  it('sums up what would be too many', () => {
    const warnings = presentableWarnings(Array.from({ length: 64 }, (_, index) => `taint ${index}`));
    expect(warnings).toHaveLength(16);
    expect(warnings.at(-1)).toBe('and 49 more');
  });

  it('is always fit for a header: one printable line within the bound', () => {
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

it('printable spells out what could forge a line or move a cursor', () => {
  expect(printable('a\nb\u001b[31m\u202e')).toBe('a\\u{a}b\\u{1b}[31m\\u{202e}');
});
