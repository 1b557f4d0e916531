import fc from 'fast-check';
import { expect, it } from 'vitest';
import { jsonPointer, pointerNames } from '../../../src/kubernetes/json-patch.ts';

it('escapes the characters that have a meaning in RFC 6901', () => {
  expect(jsonPointer('metadata', 'annotations', 'example.com/a~b')).toBe('/metadata/annotations/example.com~1a~0b');
  expect(jsonPointer()).toBe('');
  expect(pointerNames('/a~01')).toEqual(['a~1']);
});

it('reads the names that it wrote', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), (names) => {
      expect(pointerNames(jsonPointer(...names))).toEqual(names);
    }),
  );
});
