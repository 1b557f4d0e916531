import fc from 'fast-check';
import { expect, it } from 'vitest';
import { jsonPointer, pointerNames, pointerPath } from '../../../src/kubernetes/json-patch.ts';

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

it.each<{ pointer: string; value: unknown; path: (string | number)[] }>([
  { pointer: '', value: [], path: [] },
  { pointer: '/a~1b/0/c', value: { 'a/b': [{ c: 1 }] }, path: ['a/b', 0, 'c'] },
  { pointer: '/0/10/1', value: [{ 10: ['a', 'b'] }], path: [0, '10', 1] },
  { pointer: '/absent/0', value: {}, path: ['absent', '0'] },
])('a pointer is a path with numbers where the value has a list: $pointer', ({ pointer, value, path }) => {
  expect(pointerPath(pointer, value)).toEqual(path);
});
