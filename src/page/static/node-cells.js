// @ts-check
/** @import { NodeMap, NodeRow } from '../state.ts' */
import { breakable, drawn, h, spoken } from './dom.js';
import { isTrouble } from './node-rows.js';
import { number } from './words.js';

/** @type {Record<string, { sign: string; word: string }>} */
const CELLS = {
  k: { sign: '', word: 'kept' },
  m: { sign: '✕', word: 'missing' },
  d: { sign: '≠', word: 'different' },
  c: { sign: '⟳', word: 'contested' },
  r: { sign: '', word: 'removed' },
  a: { sign: '', word: 'none' },
  '-': { sign: '', word: '' },
};

/** @param {NodeMap} map @returns {Record<string, number>[]} for each column, how many nodes have which cell */
export function totals({ columns, rows }) {
  return columns.map((_, column) => {
    /** @type {Record<string, number>} */
    const counts = {};
    for (const { cells } of rows) {
      const cell = cells[column] ?? '-';
      counts[cell] = (counts[cell] ?? 0) + 1;
    }
    return counts;
  });
}

/**
 * @param {NodeMap} map
 * @param {readonly number[]} shown
 */
export function headOf(map, shown) {
  const counts = totals(map);
  return [
    h('th', { scope: 'col', class: 'name' }, 'Node'),
    ...shown.map((index) => {
      const column = map.columns[index];
      const count = counts[index] ?? {};
      const bad = ['m', 'd', 'c'].flatMap((cell) =>
        count[cell] ? [`${number(count[cell])} ${CELLS[cell]?.word}`] : [],
      );
      return h(
        'th',
        { scope: 'col' },
        h('span', { class: 'mono' }, ...breakable(column?.taint ?? '')),
        h('span', { class: 'quiet line' }, `${column?.policy} · ${column?.mode}`),
        h(
          'span',
          { class: bad.length > 0 ? 'bad line' : 'quiet line' },
          bad.join(', ') || `${number(count.k ?? 0)} kept`,
        ),
      );
    }),
    h('th', { scope: 'col', class: 'note' }, 'What there is to say'),
  ];
}

/**
 * @param {NodeMap} map
 * @param {NodeRow} row
 * @param {readonly number[]} columns
 */
export function rowOf(map, { name, ready, cells, notes = [] }, columns) {
  const said = notes.map((note) => map.notes[note]).join('; ');
  return h(
    'tr',
    {},
    h(
      'th',
      { scope: 'row', class: 'name mono' },
      h('button', { type: 'button', class: 'plain', id: `node-${name}`, 'data-node': name, title: name }, name),
      !ready && h('span', { class: 'tag' }, 'not ready'),
    ),
    ...columns.map((index) => cellOf(cells[index])),
    h('td', { class: 'note', title: said }, said),
  );
}

/** @param {string | undefined} letter */
function cellOf(letter = '-') {
  const { sign, word } = CELLS[letter] ?? { sign: '', word: letter };
  if (word === '') return h('td', { class: 'cell is-unselected' }, drawn('–'), spoken('not selected'));
  return h('td', { class: `cell is-${word}` }, sign !== '' && drawn(`${sign} `), word);
}

/**
 * @param {NodeMap} map
 * @param {NodeRow} row
 */
export function detailsOf({ columns, notes: all }, { name, ready, cells, notes = [] }) {
  const troubled = [...cells].flatMap((cell, index) => (isTrouble(cell) ? [index] : []));
  const selected = [...cells].flatMap((cell, index) => (cell !== '-' ? [index] : []));
  return [
    h('h3', { class: 'mono' }, name, h('span', { class: 'tag' }, ready ? 'ready' : 'not ready')),
    h(
      'ul',
      {},
      ...selected.map((index) => {
        const { word = '', sign = '' } = CELLS[cells[index] ?? '-'] ?? {};
        const column = columns[index];
        const note = all[notes[troubled.indexOf(index)] ?? -1];
        return h(
          'li',
          {},
          h('span', { class: `cell is-${word}` }, sign !== '' && drawn(`${sign} `), word),
          ' ',
          h('span', { class: 'mono' }, ...breakable(column?.taint ?? '')),
          h(
            'span',
            { class: 'quiet' },
            ` · ${column?.policy}, ${column?.field}, ${column?.mode}${note ? `: ${note}` : ''}`,
          ),
        );
      }),
    ),
  ];
}
