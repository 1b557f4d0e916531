import { expect, it } from 'vitest';
import type { NodeColumn, NodeMap } from '../../../../src/page/state.ts';
import { columnsOf, MAX_COLUMNS, rowsOf } from '../../../../src/page/static/node-rows.js';

const column = (policy: string, index = 0): NodeColumn => ({
  policy,
  field: `spec.taints[${index}]`,
  mode: 'Restore',
  ensure: 'Present',
  taint: `example.com/${policy}-${index}:NoSchedule`,
});

const MAP: NodeMap = {
  columns: [column('gpu', 0), column('gpu', 1), column('edge')],
  columnsLeftOut: 0,
  notes: [],
  unselected: 0,
  rows: [
    { name: 'a-kept', ready: true, cells: 'kk-' },
    { name: 'b-contested', ready: true, cells: 'kc-' },
    { name: 'c-missing', ready: false, cells: 'km-' },
    { name: 'd-edge-differs', ready: true, cells: '--d' },
    { name: 'e-absent', ready: false, cells: 'aa-' },
    { name: 'f-missing-too', ready: true, cells: 'mk-' },
  ],
};
const ALL = { text: '', show: 'all', policy: '' } as const;

it.each([
  {
    why: 'trouble first, the worst before the rest, and by name within',
    filter: ALL,
    rows: ['c-missing', 'f-missing-too', 'd-edge-differs', 'b-contested', 'a-kept', 'e-absent'],
  },
  {
    why: 'by a part of the name, in any case',
    filter: { ...ALL, text: ' MISSING ' },
    rows: ['c-missing', 'f-missing-too'],
  },
  {
    why: 'only trouble',
    filter: { ...ALL, show: 'trouble' },
    rows: ['c-missing', 'f-missing-too', 'd-edge-differs', 'b-contested'],
  },
  { why: 'one state', filter: { ...ALL, show: 'd' }, rows: ['d-edge-differs'] },
  { why: 'not ready', filter: { ...ALL, show: 'unready' }, rows: ['c-missing', 'e-absent'] },
  { why: 'the nodes of one policy alone', filter: { ...ALL, policy: 'edge' }, rows: ['d-edge-differs'] },
  {
    why: "the trouble of other policies is not this policy's",
    filter: { ...ALL, policy: 'edge', show: 'm' },
    rows: [],
  },
] as const)('rows: $why', ({ filter, rows }) => {
  expect(rowsOf(MAP, filter).map(({ name }) => name)).toEqual(rows);
});

it('leaves the map as it is, however it is sorted', () => {
  const before = structuredClone(MAP);
  rowsOf(MAP, ALL);
  expect(MAP).toEqual(before);
});

it('shows the columns of every policy, or of one', () => {
  expect(columnsOf(MAP, '')).toEqual({ shown: [0, 1, 2], leftOut: 0 });
  expect(columnsOf(MAP, 'edge')).toEqual({ shown: [2], leftOut: 0 });
});

it('of more columns than one can read shows those with trouble first, and says how many are left out', () => {
  const columns = Array.from({ length: 40 }, (_, index) => column('wide', index));
  const rows = [{ name: 'n', ready: true, cells: `${'k'.repeat(39)}m` }];
  const { shown, leftOut } = columnsOf({ ...MAP, columns, rows }, '');
  expect(shown.slice(0, 3)).toEqual([39, 0, 1]);
  expect(shown).toHaveLength(MAX_COLUMNS);
  expect(leftOut).toBe(40 - MAX_COLUMNS);
});
