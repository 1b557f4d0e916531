import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Document, parse, stringify } from 'yaml';
import { jsonText, KUBECTL_YAML, yamlText } from '../../../src/files/printed-data.ts';

/** What moves a cursor, hides text or changes its order, apart from line breaks and tabs. */
const UNSEEN = /[^\P{Cc}\n\t]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

const TEXTS = {
  'a control sequence of one character, as terminals of 8 bits have it': '\u009b31mred',
  'a control sequence that begins with ESC': '\u001b[2J',
  'a text that is shown backwards': 'node-\u202ecba',
  'an invisible character': 'kube\u200bsystem',
  'an invisible character of another plane': 'a\u{e0041}b',
  'a line separator': 'a\u2028b',
  'half of a character': 'a\ud800',
  'a carriage return and a tab in lines': 'a\r\n\tb\n\u009b\n',
};

interface Format {
  readonly format: string;
  readonly print: (data: unknown) => string;
  readonly read: (text: string) => unknown;
}

describe.each<Format>([
  { format: 'JSON', print: jsonText, read: JSON.parse },
  { format: 'YAML', print: yamlText, read: parse },
])('$format that is printed', ({ print, read }) => {
  it.each(Object.entries(TEXTS))('escapes %s, and a program reads the same', (_what, text) => {
    const data = { [text]: [text, `\\${text}`, { note: `first line\n${text}` }] };
    expect(print(data)).not.toMatch(UNSEEN);
    expect(read(print(data))).toEqual(data);
  });

  it('is harmless, and reads the same, whatever the texts are', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' })), (data) => {
        expect(print(data)).not.toMatch(UNSEEN);
        expect(read(print(data))).toEqual(data);
      }),
    );
  });
});

it('prints other YAML as the package does, with the comments of a document', () => {
  const data = { a: 'yes', b: 'first\nsecond\n', 'c d': ['ü', '日本', '-', 'x'.repeat(200)] };
  expect(yamlText(data)).toBe(stringify(data, { lineWidth: 0 }));
  const document = new Document(data, KUBECTL_YAML);
  document.commentBefore = ' why';
  expect(yamlText(document)).toBe(`# why\n\n${stringify(data, { lineWidth: 0, ...KUBECTL_YAML })}`);
});
