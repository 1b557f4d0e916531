import { expect, it } from 'vitest';
import { tabs } from '../../../src/talos/tabs.ts';

const BASE = 'machine:\n  type: worker\n';

// What the parser of Talos 1.13.0 answers to each was tried.
it.each([
  { why: 'before a comment at the end', text: `${BASE}\t# c\n`, at: '3:1' },
  { why: 'before a comment between', text: 'machine:\n\t# c\n  type: worker\n', at: '2:1' },
  { why: 'alone on a line', text: `${BASE}\t\n`, at: '3:1' },
  { why: 'after spaces that are no deeper than the value above', text: `${BASE}  \t# c\n`, at: '3:3' },
  { why: 'after a quoted text', text: 'machine:\n  type: "worker"\n\t# c\n', at: '3:1' },
  { why: 'behind a dash', text: 'machine:\n  certSANs:\n    -\ta\n', at: '3:6' },
  { why: 'deeper than the value above', text: `${BASE}    \t# c\n`, at: undefined },
  { why: 'before a comment on the same line', text: 'machine:\n  type: worker\t# c\n', at: undefined },
  { why: 'before a value', text: 'machine:\n  type:\tworker\n', at: undefined },
  { why: 'in a text of several lines', text: 'machine:\n  token: "a\n    \tb"\n  type: worker\n', at: undefined },
  { why: 'in a literal text', text: 'machine:\n  token: |\n    a\n    \tx\n  type: worker\n', at: undefined },
  { why: 'in JSON', text: '{\n\t"machine": {}\n}\n', at: undefined },
])('a tab $why: $at', ({ text, at }) => {
  const found = tabs(text, 'f.yaml').map(({ document, path }) => document.locate(path));
  expect(found).toEqual(at === undefined ? [] : [`f.yaml:${at}`]);
});
