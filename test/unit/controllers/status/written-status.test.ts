import { expect, it } from 'vitest';
import { isToWrite } from '../../../../src/controllers/status/written-status.ts';

const A = { matched: 1 };
const PRUNED = { matched: 2 };
const B = { matched: 2, audit: true };

it.each([
  { why: 'nothing differs', current: A, next: A, written: undefined, expected: false },
  { why: 'there is no status yet', current: undefined, next: A, written: undefined, expected: true },
  { why: 'something differs', current: A, next: B, written: undefined, expected: true },
  {
    why: 'the definition has pruned a field of it',
    current: PRUNED,
    next: B,
    written: { sent: B, stored: PRUNED },
    expected: false,
  },
  {
    why: 'the definition has pruned all of it',
    current: undefined,
    next: B,
    written: { sent: B, stored: undefined },
    expected: false,
  },
  {
    why: 'another writer has changed it since',
    current: A,
    next: B,
    written: { sent: B, stored: PRUNED },
    expected: true,
  },
  { why: 'it has changed since', current: PRUNED, next: A, written: { sent: B, stored: PRUNED }, expected: true },
])('a status is written: $expected, where $why', ({ current, next, written, expected }) => {
  expect(isToWrite(current, next, written)).toBe(expected);
});
