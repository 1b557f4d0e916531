import { Settings } from 'typebox/system';
import { describe, expect, it } from 'vitest';
import { withMaxErrors } from '../../../src/policy/schema-problems.ts';

describe('withMaxErrors', () => {
  const limit = () => Settings.Get().maxErrors;

  it('has another limit while it runs, and restores the earlier one', () => {
    const earlier = limit();
    expect(withMaxErrors(earlier + 1, limit)).toBe(earlier + 1);
    expect(limit()).toBe(earlier);
  });

  it('also restores the limit after an error', () => {
    const earlier = limit();
    const fail = () => {
      throw new Error('no result');
    };
    expect(() => withMaxErrors(earlier + 1, fail)).toThrow('no result');
    expect(limit()).toBe(earlier);
  });
});
