import { describe, expect, it } from 'vitest';
import {
  allowRemovalWith,
  boundedAllowRemoval,
  isRemovalAllowed,
  keepsOff,
  MAX_ALLOW_REMOVAL_ENTRIES,
  MAX_ALLOW_REMOVAL_LENGTH,
  parseAllowedRemovals,
  rewriteAllowRemoval,
  unreadableEntries,
} from '../../../src/judge/allow-removal.ts';

const gpu = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const plain = { key: 'example.com/plain', effect: 'NoExecute' };

/** An entry of so many characters. Its taint can be read, and no node can carry it. */
const longEntry = (length: number) => `${'a'.repeat(length - ':NoSchedule'.length)}:NoSchedule`;

describe('isRemovalAllowed', () => {
  it.each([
    { annotation: undefined, taint: gpu, yes: false },
    { annotation: '', taint: gpu, yes: false },
    { annotation: 'dedicated=gpu:NoSchedule', taint: gpu, yes: true },
    { annotation: ' a:NoExecute ,dedicated=gpu:NoSchedule, ', taint: gpu, yes: true },
    { annotation: 'dedicated:NoSchedule', taint: gpu, yes: false },
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
    { annotation: 'dedicated=gpu=x:NoSchedule', taint: gpu, yes: false },
  ])('"$annotation" allows the removal of $taint: $yes', ({ annotation, taint, yes }) => {
    expect(isRemovalAllowed(parseAllowedRemovals(annotation), taint)).toBe(yes);
  });
});

describe('keepsOff', () => {
  it.each([
    { annotation: 'dedicated=gpu:NoSchedule', anyValue: false, yes: true },
    { annotation: 'dedicated:NoSchedule', anyValue: false, yes: false },
    { annotation: 'dedicated=cpu:NoSchedule', anyValue: false, yes: false },
    { annotation: 'dedicated=cpu:NoSchedule', anyValue: true, yes: true },
    { annotation: 'dedicated=gpu:NoExecute', anyValue: true, yes: false },
    { annotation: 'dedicated=gpu:NoSchedule-', anyValue: true, yes: false },
  ])(
    '"$annotation" keeps dedicated=gpu:NoSchedule off, any value: $anyValue? $yes',
    ({ annotation, anyValue, yes }) => {
      expect(keepsOff(parseAllowedRemovals(annotation), { taint: gpu, anyValue })).toBe(yes);
    },
  );
});

describe('allowRemovalWith', () => {
  it.each([
    { why: 'none stands', annotation: undefined, value: 'dedicated=gpu:NoSchedule' },
    { why: 'another one stays', annotation: 'a:NoExecute', value: 'a:NoExecute,dedicated=gpu:NoSchedule' },
    { why: 'it stands already', annotation: 'dedicated=gpu:NoSchedule ', value: 'dedicated=gpu:NoSchedule' },
    {
      why: 'one that allows nothing',
      annotation: 'dedicated, b:NoSchedule',
      value: 'b:NoSchedule,dedicated=gpu:NoSchedule',
    },
    { why: 'one that a shell would run', annotation: 'a=$(id):NoSchedule', value: 'dedicated=gpu:NoSchedule' },
    {
      why: 'it stands already, before another one, which is there twice',
      annotation: 'dedicated=gpu:NoSchedule, a:NoExecute, a:NoExecute',
      value: 'a:NoExecute,dedicated=gpu:NoSchedule',
    },
    {
      why: 'one that is as long as a taint can be',
      annotation: longEntry(400),
      value: `${longEntry(400)},dedicated=gpu:NoSchedule`,
    },
    { why: 'one that is longer than any taint', annotation: longEntry(401), value: 'dedicated=gpu:NoSchedule' },
    { why: 'too long to be read', annotation: `${'a:NoExecute,'.repeat(3000)}`, value: 'dedicated=gpu:NoSchedule' },
  ])('$why', ({ annotation, value }) => {
    expect(allowRemovalWith(annotation, [gpu])).toBe(value);
  });

  it('names at most as many taints as are read, so that the removal is allowed', () => {
    const more = [gpu, { key: 'b', effect: 'NoSchedule' }];
    const read = parseAllowedRemovals(allowRemovalWith(entries(MAX_ALLOW_REMOVAL_ENTRIES), more));
    expect(read.entries).toHaveLength(MAX_ALLOW_REMOVAL_ENTRIES);
    expect(more.every((taint) => isRemovalAllowed(read, taint))).toBe(true);
  });
});

/** So many entries of other taints, as they are written. */
const entries = (count: number) => Array.from({ length: count }, (_, n) => `t${n}:NoSchedule`).join(', ');

/** The same, as taintkeeper writes them. */
const written = (count: number) => entries(count).replaceAll(' ', '');

describe('rewriteAllowRemoval', () => {
  it.each([
    {
      why: 'deletes an entry and keeps the others, also those that cannot be read',
      annotation: 'a:NoExecute, dedicated=gpu:NoSchedule,rubbish ,b:NoSchedule',
      entriesEnded: [gpu],
      after: 'a:NoExecute,rubbish,b:NoSchedule',
    },
    {
      why: 'deletes both ways of writing a taint',
      annotation: 'example.com/plain=:NoExecute',
      entriesEnded: [plain],
      after: undefined,
    },
    {
      why: 'leaves no annotation without entries',
      annotation: 'dedicated=gpu:NoSchedule',
      entriesEnded: [gpu],
      after: undefined,
    },
    {
      why: 'keeps the entry of another value',
      annotation: 'dedicated=cpu:NoSchedule',
      entriesEnded: [gpu],
      after: 'dedicated=cpu:NoSchedule',
    },
    {
      why: 'adds entries for the values, also for none',
      annotation: 'a:NoExecute',
      more: [gpu, plain],
      after: 'a:NoExecute,dedicated=gpu:NoSchedule,example.com/plain:NoExecute',
    },
    {
      why: 'adds none twice',
      annotation: ' dedicated=gpu:NoSchedule',
      more: [gpu],
      after: ' dedicated=gpu:NoSchedule',
    },
    {
      why: 'writes an annotation anew that is too long to be read',
      annotation: 'a:NoSchedule,'.repeat(3_000),
      more: [gpu],
      after: 'dedicated=gpu:NoSchedule',
    },
    {
      why: 'leaves one that is too long as it is if there is nothing to add',
      annotation: ','.repeat(40_000),
      entriesEnded: [gpu],
      after: ','.repeat(40_000),
    },
    { why: 'writes none where there was none', annotation: undefined, after: undefined },
    {
      why: 'adds the last entry that is read',
      annotation: entries(63),
      more: [gpu],
      after: `${written(63)},dedicated=gpu:NoSchedule`,
    },
    {
      why: 'adds none beyond it: the last one of a user could not be read any more',
      annotation: entries(64),
      more: [gpu],
      after: entries(64),
    },
    {
      why: 'adds none of several that do not fit together',
      annotation: entries(63),
      more: [gpu, plain],
      after: entries(63),
    },
    {
      why: 'deletes entries also where it adds none',
      annotation: `${entries(63)}, dedicated=gpu:NoSchedule`,
      entriesEnded: [gpu],
      more: [plain, { ...gpu, effect: 'NoExecute' }],
      after: written(63),
    },
    {
      why: 'adds an entry in place of one that ends',
      annotation: `${entries(63)}, dedicated=gpu:NoSchedule`,
      entriesEnded: [gpu],
      more: [plain],
      after: `${written(63)},example.com/plain:NoExecute`,
    },
    {
      why: 'adds none that would make it too long to be read: the earlier entries would count no more',
      annotation: longEntry(32_760),
      more: [gpu],
      after: longEntry(32_760),
    },
    {
      why: 'adds the entry that fills it',
      annotation: longEntry(MAX_ALLOW_REMOVAL_LENGTH - 1 - 'dedicated=gpu:NoSchedule'.length),
      more: [gpu],
      after: `${longEntry(MAX_ALLOW_REMOVAL_LENGTH - 1 - 'dedicated=gpu:NoSchedule'.length)},dedicated=gpu:NoSchedule`,
    },
    {
      why: 'deletes an entry of one that is nearly too long, and can still be read',
      annotation: ['dedicated=gpu:NoSchedule', ...Array(62).fill(longEntry(527))].join(','),
      entriesEnded: [gpu],
      after: Array(62).fill(longEntry(527)).join(','),
    },
  ])('$why', ({ annotation, entriesEnded = [], more = [], after }) => {
    expect(rewriteAllowRemoval(annotation, { entriesEnded, more })).toBe(after);
  });
});

it('unreadableEntries lists the texts that cannot be read as entries', () => {
  expect(unreadableEntries(parseAllowedRemovals('dedicated=gpu, a:NoExecute, x:noschedule, y:NoSchedule-'))).toEqual([
    'dedicated=gpu',
    'x:noschedule',
    'y:NoSchedule-',
  ]);
});

describe('an annotation that is too long', () => {
  const text = `more than ${MAX_ALLOW_REMOVAL_LENGTH} characters`;

  it('has one entry that says so and allows nothing', () => {
    const tooLong = parseAllowedRemovals(longEntry(MAX_ALLOW_REMOVAL_LENGTH + 1));
    expect(tooLong.entries).toEqual([{ text, taint: undefined }]);
    expect(tooLong.taints.size).toBe(0);
    expect(unreadableEntries(parseAllowedRemovals(longEntry(MAX_ALLOW_REMOVAL_LENGTH)))).toEqual([]);
  });

  it('is kept in memory as a text of limited length with the same meaning', () => {
    const longest = longEntry(MAX_ALLOW_REMOVAL_LENGTH);
    expect(boundedAllowRemoval(longest)).toBe(longest);
    const kept = boundedAllowRemoval(longEntry(10 * MAX_ALLOW_REMOVAL_LENGTH));
    expect(kept).toHaveLength(MAX_ALLOW_REMOVAL_LENGTH + 1);
    expect(parseAllowedRemovals(kept).entries).toEqual([{ text, taint: undefined }]);
  });

  it('is measured in code points, as CEL measures it', () => {
    const wide = `${'😀'.repeat(20_000)},dedicated=gpu:NoSchedule`;
    expect(wide.length).toBeGreaterThan(MAX_ALLOW_REMOVAL_LENGTH);
    expect(isRemovalAllowed(parseAllowedRemovals(wide), gpu)).toBe(true);
  });
});

it(`the entries after the first ${MAX_ALLOW_REMOVAL_ENTRIES - 1} are one that cannot be read`, () => {
  const texts = Array.from({ length: MAX_ALLOW_REMOVAL_ENTRIES + 1 }, (_, n) => `t${n}:NoSchedule`);
  const { entries, taints } = parseAllowedRemovals(texts.join(', '));
  expect(entries).toHaveLength(MAX_ALLOW_REMOVAL_ENTRIES);
  expect(taints.size).toBe(MAX_ALLOW_REMOVAL_ENTRIES - 1);
  expect(entries.at(-1)).toEqual({ text: 't63:NoSchedule, t64:NoSchedule', taint: undefined });
});

it('empty entries do not count', () => {
  const allowed = parseAllowedRemovals(' , a:NoSchedule,, b:NoSchedule');
  expect(allowed.entries.map(({ text }) => text)).toEqual(['a:NoSchedule', 'b:NoSchedule']);
});
