import { expect, it } from 'vitest';
import { printable, printableWithin, shorten } from '../../../src/text/printable.ts';

it('printable escapes characters that could begin a line or move the cursor', () => {
  expect(printable('a\nb\u001b[31m\u202e')).toBe('a\\u{a}b\\u{1b}[31m\\u{202e}');
});

it.each([
  { text: '12345678', shown: '12345678' },
  { text: '123456789', shown: '12345...' },
  { text: 'é12345678', shown: 'é123...' },
  { text: '1234é678', shown: '1234...' },
  { text: 'a\nb', shown: 'a\\u{a}b' },
  { text: 'abcd\nefg', shown: 'abcd\\...' },
])('printableWithin eight bytes: $text', ({ text, shown }) => {
  expect(printableWithin(text, 8)).toBe(shown);
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
