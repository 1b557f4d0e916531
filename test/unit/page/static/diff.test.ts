import { expect, it } from 'vitest';
import { diff } from '../../../../src/page/static/diff.js';

const GPU = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const OLD = { key: 'dedicated', value: 'batch', effect: 'NoSchedule' };
const EDGE = { key: 'example.com/edge', effect: 'NoExecute' };
const MASTER = { key: 'node-role.kubernetes.io/master', operator: 'Exists', effect: 'NoSchedule' };

it.each([
  {
    why: 'a list that is there for the first time comes item by item',
    change: { path: '/spec/taints', after: [GPU, EDGE] },
    path: 'spec.taints',
    lines: ['+ dedicated=gpu:NoSchedule', '+ example.com/edge:NoExecute'],
  },
  {
    why: 'of a list that was and is, what stays is shown beside what comes',
    change: { path: '/spec/taints', before: [EDGE], after: [EDGE, GPU] },
    path: 'spec.taints',
    lines: ['  example.com/edge:NoExecute', '+ dedicated=gpu:NoSchedule'],
  },
  {
    why: 'the order of a list is no change',
    change: { path: '/spec/taints', before: [EDGE, GPU], after: [GPU, EDGE] },
    path: 'spec.taints',
    lines: ['  dedicated=gpu:NoSchedule', '  example.com/edge:NoExecute'],
  },
  {
    why: 'an item that is there twice went once',
    change: { path: '/spec/taints', before: [GPU, GPU], after: [GPU] },
    path: 'spec.taints',
    lines: ['- dedicated=gpu:NoSchedule', '  dedicated=gpu:NoSchedule'],
  },
  {
    why: 'of much that stays, little is shown',
    change: { path: '/spec/taints', before: ['a', 'b', 'c', 'd', 'e'], after: ['a', 'b', 'c', 'd', 'e', 'f'] },
    path: 'spec.taints',
    lines: ['  a', '  b', '  c', '+ f', '  … 2 more that stay'],
  },
  {
    why: 'one place in a list',
    change: { path: '/spec/taints/0', before: OLD, after: GPU },
    path: 'spec.taints[0]',
    lines: ['- dedicated=batch:NoSchedule', '+ dedicated=gpu:NoSchedule'],
  },
  {
    why: 'one field of one place',
    change: { path: '/spec/taints/0/value', before: 'batch', after: 'gpu' },
    path: 'spec.taints[0].value',
    lines: ['- batch', '+ gpu'],
  },
  {
    why: 'a toleration says its operator; the end of a list is -',
    change: { path: '/spec/template/spec/tolerations/-', after: MASTER },
    path: 'spec.template.spec.tolerations[-]',
    lines: ['+ node-role.kubernetes.io/master:NoSchedule (Exists)'],
  },
  {
    why: 'an empty key with Exists is every taint',
    change: { path: '/spec/template/spec/tolerations', after: [{ operator: 'Exists' }] },
    path: 'spec.template.spec.tolerations',
    lines: ['+ * (Exists)'],
  },
  {
    why: "RFC 6901's escapes, in a key that holds a slash",
    change: { path: '/metadata/annotations/taintkeeper.dev~1allow-removal', before: 'a:NoSchedule' },
    path: 'metadata.annotations["taintkeeper.dev/allow-removal"]',
    lines: ['- a:NoSchedule'],
  },
  {
    why: 'a map that is there for the first time comes entry by entry',
    change: { path: '/metadata/annotations', after: { 'example.com/a': '1', b: '2' } },
    path: 'metadata.annotations',
    lines: ['+ example.com/a: 1', '+ b: 2'],
  },
  {
    why: 'what is neither taint nor toleration is JSON',
    change: { path: '/spec', before: null, after: { taints: [] } },
    path: 'spec',
    lines: ['- null', '+ {"taints":[]}'],
  },
  {
    why: 'an item that has more than a taint has is not made to look like one',
    change: { path: '/spec/taints', after: [{ ...EDGE, timeAdded: '2026-01-01T00:00:00Z' }] },
    path: 'spec.taints',
    lines: ['+ {"key":"example.com/edge","effect":"NoExecute","timeAdded":"2026-01-01T00:00:00Z"}'],
  },
])('a change in lines: $why', ({ change, path, lines }) => {
  const shown = diff(change);
  expect(shown.path).toBe(path);
  expect(shown.lines.map(({ sign, text }) => `${sign} ${text}`)).toEqual(lines);
});
