import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitJsonStream } from '../../../src/files/json-stream.ts';

const space = fc.stringMatching(/^[ \t\r\n]*$/);

describe('splitJsonStream', () => {
  it('finds each of several objects where it is, with any white space between them', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.object(), space), { minLength: 2, maxLength: 5 }), space, (objects, first) => {
        const text = first + objects.map(([object, after]) => JSON.stringify(object) + after).join('');
        const parts = splitJsonStream(text);
        expect(parts.map((part) => JSON.parse(part.text))).toEqual(
          objects.map(([object]) => JSON.parse(JSON.stringify(object))),
        );
        for (const part of parts) {
          expect(part.isJson).toBe(true);
          expect(text.slice(part.offset, part.offset + part.text.length)).toBe(part.text);
        }
      }),
    );
  });

  it('loses nothing of any text but white space between its parts', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('{"a":1}', '{', '}', '"', '\\', '[', '\n---\n', 'a: 1', ' ')), (pieces) => {
        const text = pieces.join('');
        let end = 0;
        for (const part of splitJsonStream(text)) {
          expect(text.slice(end, part.offset).trim()).toBe('');
          end = part.offset + part.text.length;
          expect(text.slice(part.offset, end)).toBe(part.text);
        }
        expect(text.slice(end).trim()).toBe('');
      }),
    );
  });

  it.each<{ why: string; text: string }>([
    { why: 'YAML', text: 'a: 1\n---\nb: 2\n' },
    { why: 'one object', text: ' {"a": {"b": "}"}}\n' },
    { why: 'one object that is cut off', text: '{"a": {"b": "}' },
    { why: 'flow mappings of YAML', text: '{a: 1}\n{b: 2}' },
    { why: 'a list', text: '[{"a": 1}]\n[{"b": 2}]' },
    { why: 'nothing', text: '' },
  ])('does not split $why', ({ text }) => {
    expect(splitJsonStream(text)).toEqual([{ text, offset: 0, isJson: false }]);
  });

  it('keeps what is no object for YAML', () => {
    expect(splitJsonStream('{"a":1}{"b":2}\n---\nc: 3\n').at(-1)).toEqual({
      text: '---\nc: 3\n',
      offset: 15,
      isJson: false,
    });
  });
});
