import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  count,
  objectTitle,
  presentableWarnings,
  printable,
  shorten,
  WARNING_MAX_LENGTH,
  withinBudget,
} from '../../../src/kubernetes/text.ts';

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

it('printable escapes characters that could begin a line or move the cursor', () => {
  expect(printable('a\nb\u001b[31m\u202e')).toBe('a\\u{a}b\\u{1b}[31m\\u{202e}');
});

it.each([
  { number: 0, text: '0 nodes' },
  { number: 1, text: '1 node' },
  { number: 2, text: '2 nodes' },
])('count: $text', ({ number, text }) => {
  expect(count(number, 'node')).toBe(text);
});

it.each([
  { object: { resource: 'nodes', name: 'n1' }, title: 'nodes/n1' },
  {
    object: { resource: 'daemonsets', namespace: 'kube-system', name: 'flannel' },
    title: 'daemonsets/kube-system/flannel',
  },
  // A name that the API server still has to generate.
  { object: { resource: 'daemonsets', namespace: 'kube-system', name: undefined }, title: 'daemonsets/kube-system' },
])('objectTitle: $title', ({ object, title }) => {
  expect(objectTitle(object)).toBe(title);
});

it.each([
  { text: 'abcdef', shown: 'abcdef' },
  { text: 'abcdefg', shown: 'abc...' },
  // Two UTF-16 units each, and one character.
  { text: '\u{1f600}'.repeat(6), shown: '\u{1f600}'.repeat(6) },
  { text: '\u{1f600}'.repeat(7), shown: `${'\u{1f600}'.repeat(3)}...` },
])('shorten to six characters: $text', ({ text, shown }) => {
  expect(shorten(text, 6)).toBe(shown);
});

it.each([
  { why: 'all that fit exactly', items: ['aa', 'b'], most: 3, kept: ['aa', 'b'] },
  { why: 'no small one after one that does not fit', items: ['a', 'bbb', 'c'], most: 3, kept: ['a'] },
  { why: 'none if the first one does not fit', items: ['aaaa', ''], most: 3, kept: [] },
])('withinBudget keeps the first items: $why', ({ items, most, kept }) => {
  expect(withinBudget(items, most, ({ length }) => length)).toEqual(kept);
});
