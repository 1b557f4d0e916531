import { describe, expect, it } from 'vitest';
import {
  announcementsIn,
  boundedAllowRemoval,
  isRemovalAllowed,
  isRemovalNoted,
  isRequiredRemovalNamed,
  parseAllowedRemovals,
  rewriteAllowRemoval,
  unreadableEntries,
} from '../../../src/judge/allow-removal.ts';

const gpu = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const plain = { key: 'example.com/plain', effect: 'NoExecute' };

describe('isRemovalAllowed', () => {
  it.each([
    { annotation: undefined, taint: gpu, yes: false },
    { annotation: '', taint: gpu, yes: false },
    { annotation: 'dedicated=gpu:NoSchedule', taint: gpu, yes: true },
    { annotation: ' a:NoExecute ,dedicated=gpu:NoSchedule, ', taint: gpu, yes: true },
    { annotation: 'dedicated:NoSchedule', taint: gpu, yes: true },
    { annotation: 'dedicated=:NoSchedule', taint: gpu, yes: false },
    { annotation: 'dedicated=cpu:NoSchedule', taint: gpu, yes: false },
    { annotation: 'dedicated=gpu:NoExecute', taint: gpu, yes: false },
    { annotation: 'example.com/plain:NoExecute', taint: plain, yes: true },
    { annotation: 'example.com/plain=:NoExecute', taint: plain, yes: true },
    { annotation: 'dedicated', taint: gpu, yes: false },
    { annotation: 'dedicated=gpu', taint: gpu, yes: false },
    { annotation: '*:NoSchedule', taint: gpu, yes: false },
    { annotation: 'true', taint: gpu, yes: false },
    { annotation: 'dedicated=gpu:NoSchedule-', taint: gpu, yes: false },
  ])('"$annotation" releases $taint: $yes', ({ annotation, taint, yes }) => {
    expect(isRemovalAllowed(parseAllowedRemovals(annotation), taint)).toBe(yes);
  });
});

it.each([
  { annotation: 'dedicated=gpu:NoSchedule-', yes: true },
  { annotation: 'a:NoExecute, dedicated:NoSchedule-', yes: true },
  { annotation: 'dedicated=cpu:NoSchedule-', yes: false },
  { annotation: 'dedicated=gpu:NoSchedule', yes: false },
  { annotation: 'dedicated=gpu:NoSchedule--', yes: false },
])('"$annotation" has a notice of dedicated=gpu:NoSchedule: $yes', ({ annotation, yes }) => {
  expect(isRemovalNoted(parseAllowedRemovals(annotation), gpu)).toBe(yes);
});

describe('isRequiredRemovalNamed', () => {
  it.each([
    { annotation: 'dedicated=gpu:NoSchedule', anyValue: false, yes: true },
    { annotation: 'dedicated:NoSchedule', anyValue: false, yes: true },
    { annotation: 'dedicated=cpu:NoSchedule', anyValue: false, yes: false },
    { annotation: 'dedicated=cpu:NoSchedule', anyValue: true, yes: true },
    { annotation: 'dedicated=gpu:NoExecute', anyValue: true, yes: false },
    { annotation: 'dedicated=gpu:NoSchedule-', anyValue: false, yes: true },
    { annotation: 'dedicated=cpu:NoSchedule-', anyValue: true, yes: true },
  ])('"$annotation" names dedicated=gpu:NoSchedule, any value: $anyValue? $yes', ({ annotation, anyValue, yes }) => {
    const required = { taint: gpu, anyValue };
    expect(isRequiredRemovalNamed(parseAllowedRemovals(annotation), required)).toBe(yes);
  });
});

describe('rewriteAllowRemoval', () => {
  const names = (key: string) => (entry: { readonly taint: { readonly key: string } | undefined }) =>
    entry.taint?.key === key;
  const none = () => false;

  it.each([
    {
      why: 'deletes an entry and keeps the others, also those that cannot be read',
      annotation: 'a:NoExecute, dedicated=gpu:NoSchedule,rubbish ,b:NoSchedule',
      omits: names('dedicated'),
      after: 'a:NoExecute, rubbish, b:NoSchedule',
    },
    {
      why: 'leaves no annotation without entries',
      annotation: 'dedicated:NoSchedule',
      omits: names('dedicated'),
      after: undefined,
    },
    {
      why: 'adds a notice for one value, also for none',
      annotation: 'a:NoExecute',
      removed: [gpu, plain],
      after: 'a:NoExecute, dedicated=gpu:NoSchedule-, example.com/plain=:NoExecute-',
    },
    {
      why: 'adds none twice',
      annotation: 'dedicated=gpu:NoSchedule-',
      removed: [gpu],
      after: 'dedicated=gpu:NoSchedule-',
    },
    {
      why: 'replaces an entry that it deletes',
      annotation: 'dedicated:NoSchedule',
      omits: names('dedicated'),
      removed: [gpu],
      after: 'dedicated=gpu:NoSchedule-',
    },
    {
      why: 'writes an annotation anew that is too long to be read',
      annotation: 'a:NoSchedule,'.repeat(3_000),
      removed: [gpu],
      after: 'dedicated=gpu:NoSchedule-',
    },
    { why: 'writes none where there was none', annotation: undefined, after: undefined },
  ])('$why', ({ annotation, omits = none, removed = [], after }) => {
    expect(rewriteAllowRemoval(parseAllowedRemovals(annotation), omits, { removed })).toBe(after);
  });
});

it('unreadableEntries shows what was meant to be an entry', () => {
  expect(unreadableEntries(parseAllowedRemovals('dedicated=gpu, a:NoExecute, x:noschedule'))).toEqual([
    'dedicated=gpu',
    'x:noschedule',
  ]);
});

describe('an annotation that is too long', () => {
  const LONGEST = 32_768;
  const filled = (length: number) => `${'a'.repeat(length - ':NoSchedule'.length)}:NoSchedule`;
  const text = `more than ${LONGEST} characters`;

  it('has one entry that says so and allows nothing', () => {
    const tooLong = parseAllowedRemovals(filled(LONGEST + 1));
    expect(tooLong).toMatchObject({ isTooLong: true, entries: [{ text, taint: undefined, isNotice: false }] });
    expect(unreadableEntries(tooLong)).toEqual([text]);
    const longest = parseAllowedRemovals(filled(LONGEST));
    expect([longest.isTooLong, longest.entries.length, unreadableEntries(longest)]).toEqual([undefined, 1, []]);
  });

  it('is kept as a text of limited length that means the same', () => {
    const longest = filled(LONGEST);
    expect(boundedAllowRemoval(longest)).toBe(longest);
    const kept = boundedAllowRemoval(filled(10 * LONGEST));
    expect(kept).toHaveLength(LONGEST + 1);
    expect(parseAllowedRemovals(kept).isTooLong).toBe(true);
  });
});

it('empty entries are none, and notices are no announcements', () => {
  const allowed = parseAllowedRemovals(' , a:NoSchedule,, b:NoSchedule-');
  expect(allowed.entries.map(({ text }) => text)).toEqual(['a:NoSchedule', 'b:NoSchedule-']);
  expect(announcementsIn(allowed).map(({ text }) => text)).toEqual(['a:NoSchedule']);
});
