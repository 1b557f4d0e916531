import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { skipFor } from '../../../skip-for.ts';

it('passes', () => {
  expect(1).toBe(1);
});

it('fails', () => {
  expect(1).toBe(2);
});

describe('what lacks something', skipFor('there is no such thing'), () => {
  it('does not run', () => {});
  it('nor does this', () => {});
});

it.skip('is skipped on purpose', () => {});

describe('what cannot begin', () => {
  beforeAll(() => {
    throw new Error('on purpose');
  });
  it('never runs', () => {});
});

describe('what cannot end', () => {
  afterAll(() => {
    throw new Error('on purpose');
  });
  it('passes before', () => {});
});
