import { expect, it } from 'vitest';
import { nameHash } from '../../../src/kubernetes/name-hash.ts';

it.each([
  ['a', '61a1cfea'],
  ['1', '012a777a'],
  [{ pool: 'gpu' }, '04f34d4b'],
])('%j ends a name with %s', (content, hash) => {
  expect(nameHash(content)).toBe(hash);
});
