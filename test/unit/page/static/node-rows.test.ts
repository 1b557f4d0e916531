import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { TaintState } from '../../../../src/explain/policies-on-node.ts';
import type { NodeColumn, NodeMap } from '../../../../src/page/state.ts';
import { cellOfWord, lossesOf, rowsOf, SHAPES, STATES } from '../../../../src/page/static/node-rows.js';

const column = (policy: string, index = 0): NodeColumn => ({
  policy,
  field: `spec.taints[${index}]`,
  mode: 'Restore',
  taint: `example.com/${policy}-${index}:NoSchedule`,
});

const MAP: NodeMap = {
  columns: [column('gpu', 0), column('gpu', 1), column('edge')],
  columnsLeftOut: 0,
  notes: [],
  unselected: 0,
  pools: ['pool=gpu'],
  waiting: [],
  waitingLeftOut: 0,
  rows: [
    { name: 'a-kept', ready: true, pool: 0, cells: 'kk-' },
    { name: 'b-in-conflict', ready: true, pool: 0, cells: 'kc-' },
    { name: 'c-missing', ready: false, pool: 0, cells: 'km-' },
    { name: 'd-edge-differs', ready: true, pool: 0, cells: '--d' },
    { name: 'e-absent', ready: false, pool: 0, cells: 'aa-' },
    { name: 'f-missing-too', ready: true, pool: 0, cells: 'mk-' },
  ],
};
const ALL = {};

it.each([
  {
    why: 'problem first, the worst before the rest, and by name within',
    filter: ALL,
    rows: ['c-missing', 'f-missing-too', 'd-edge-differs', 'b-in-conflict', 'a-kept', 'e-absent'],
  },
  {
    why: 'by a part of the name, in any case',
    filter: { q: ' MISSING ' },
    rows: ['c-missing', 'f-missing-too'],
  },
  {
    why: 'only problem',
    filter: { show: 'problem' },
    rows: ['c-missing', 'f-missing-too', 'd-edge-differs', 'b-in-conflict'],
  },
  { why: 'nothing by a word that is no state', filter: { show: 'lost' }, rows: [] },
  { why: 'one state', filter: { show: 'another-value' }, rows: ['d-edge-differs'] },
  { why: 'not ready', filter: { show: 'unready' }, rows: ['c-missing', 'e-absent'] },
  { why: 'the nodes of one policy alone', filter: { policy: 'edge' }, rows: ['d-edge-differs'] },
  {
    why: "the problem of other policies is not this policy's",
    filter: { policy: 'edge', show: 'missing' },
    rows: [],
  },
])('rows: $why', ({ filter, rows }) => {
  expect(rowsOf(MAP, filter).map(({ name }) => name)).toEqual(rows);
});

it('has what a policy only watches after what one is to keep', () => {
  const columns = [{ ...column('watched'), mode: 'Audit' }, column('gpu')];
  const rows = ['m-', '-d', 'mc', 'k-'].map((cells, index) => ({ name: `n${index}`, ready: true, pool: 0, cells }));
  expect(rowsOf({ ...MAP, columns, rows }, ALL).map(({ name }) => name)).toEqual(['n1', 'n2', 'n0', 'n3']);
});

it('leaves the map as it is, however it is sorted', () => {
  const before = structuredClone(MAP);
  rowsOf(MAP, ALL);
  expect(MAP).toEqual(before);
});

it('tells what there is to say of a node, the worst first', () => {
  const notes = [
    { taint: 'a:NoSchedule', why: '', harm: 'Repairing' },
    { taint: 'b:NoSchedule', why: '', harm: 'Conflict' },
  ] as const;
  const losses = [[1, 1] as const, [2, 0] as const];
  expect(lossesOf({ ...MAP, notes }, { name: 'n', ready: true, pool: 0, cells: 'kcm', losses })).toEqual([
    { cell: 'm', note: notes[0] },
    { cell: 'c', note: notes[1] },
  ]);
});

it.each(['m', 'd', 'c', 'r', 'k', 'u'] as const)(
  'has one word for a state, in explanations and in the list of what to show, and a sign: %s',
  (cell) => {
    const { name, word } = STATES[cell];
    const page = readFileSync(join(import.meta.dirname, '../../../../src/page/static/index.html'), 'utf8');
    expect(cellOfWord(word)).toBe(cell);
    expect(SHAPES[cell]?.(0, 0, 10)).toMatch(/^M/);
    if (cell !== 'k') expect(page).toContain(`<option value="${name}">${word}</option>`);
  },
);

it.each<[cell: keyof typeof STATES, state: TaintState]>([
  ['m', 'missing'],
  ['r', 'kept-off'],
  ['k', 'protected'],
  ['u', 'audited'],
])('has for %s the word of explain: %s', (cell, state) => {
  expect(STATES[cell].word).toBe(state);
});
