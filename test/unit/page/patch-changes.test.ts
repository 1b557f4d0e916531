import jsonPatch from 'fast-json-patch';
import { expect, it } from 'vitest';
import type { Operation } from '../../../src/kubernetes/json-patch.ts';
import { keepPatch } from '../../../src/page/patch-changes.ts';

it.each<{ why: string; object: unknown; patched: unknown; changes: object[] }>([
  { why: 'nothing', object: { a: 1 }, patched: { a: 1 }, changes: [] },
  {
    why: 'a list, whole, however many operations it takes',
    object: { spec: { taints: [{ key: 'a' }, { key: 'b' }, { key: 'c' }], more: 1 } },
    patched: { spec: { taints: [{ key: 'b' }, { key: 'c' }], more: 1 } },
    changes: [
      {
        path: '/spec/taints',
        before: [{ key: 'a' }, { key: 'b' }, { key: 'c' }],
        after: [{ key: 'b' }, { key: 'c' }],
      },
    ],
  },
  {
    why: 'a value that is new, in a map that is there',
    object: { metadata: { annotations: { mine: '1' } } },
    patched: { metadata: { annotations: { mine: '1', 'taintkeeper.dev/x': 'y' } } },
    changes: [{ path: '/metadata/annotations/taintkeeper.dev~1x', after: 'y' }],
  },
  {
    why: 'a value that is removed',
    object: { metadata: { annotations: { 'a~b/c': '1' } } },
    patched: { metadata: { annotations: {} } },
    changes: [{ path: '/metadata/annotations/a~0b~1c', before: '1' }],
  },
  {
    why: 'a map that is new',
    object: {},
    patched: { spec: { taints: [] } },
    changes: [{ path: '/spec', after: { taints: [] } }],
  },
])('says what changes: $why', ({ object, patched, changes }) => {
  const patch = jsonPatch.compare(object as object, patched as object) as Operation[];
  const kept = keepPatch(object, patch);
  expect(kept?.()).toEqual(changes);
});

it('says what was there when the patch was made, also when asked twice', () => {
  const taints = [{ key: 'a' }];
  const kept = keepPatch({ spec: { taints } }, [{ op: 'add', path: '/spec/taints/1', value: { key: 'b' } }]);
  const said = [{ path: '/spec/taints', before: [{ key: 'a' }], after: [{ key: 'a' }, { key: 'b' }] }];
  expect([kept?.(), kept?.()]).toEqual([said, said]);
});

it('keeps nothing of a value that is nested too deeply to be written as JSON', () => {
  const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
  const patch = [{ op: 'add' as const, path: '/spec/taints/0', value: {} }];
  expect(keepPatch({ spec: { taints: [{ key: 'a', deep }] } }, patch)).toBeUndefined();
});

it.each([
  { why: 'the list that it changes is long', length: 3_000, text: 'x' },
  { why: 'a text in that list is long', length: 1, text: 'x'.repeat(10_000) },
])('keeps nothing where $why', ({ length, text }) => {
  const taints = Array.from({ length }, () => ({ key: text }));
  expect(keepPatch({ spec: { taints } }, [{ op: 'add', path: '/spec/taints/0', value: {} }])).toBeUndefined();
});
