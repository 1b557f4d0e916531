// @ts-check
/** @import { NodeColumn, NodeMap, NodeRow, PageState } from '../state.ts' */
/** @import { NodeFilter, Show } from './node-rows.js' */

import { absence } from './absence.js';
import { breakable, byId, drawn, fill, h, spoken } from './dom.js';
import { field, picker } from './filter-fields.js';
import { nodeMap } from './node-map.js';
import { columnsOf, isTrouble, rowsOf } from './node-rows.js';
import { virtualRows } from './virtual-rows.js';
import { counted, number } from './words.js';

/** @type {Record<string, { sign: string; word: string }>} */
const CELLS = {
  k: { sign: '', word: 'kept' },
  m: { sign: '✕', word: 'missing' },
  d: { sign: '≠', word: 'different' },
  c: { sign: '⟳', word: 'contested' },
  a: { sign: '', word: 'absent' },
  '-': { sign: '', word: '' },
};

/** The panel of nodes and protected taints. */
export function nodesView() {
  const scroller = byId('nodes-scroller');
  const table = /** @type {HTMLTableElement} */ (byId('nodes-table'));
  const head = h('tr', { 'aria-rowindex': '1' });
  table.append(h('thead', {}, head));
  /** @type {NodeMap | undefined} */
  let map;
  /** @type {readonly number[]} */
  let columns = [];
  /** @type {string | undefined} */
  let chosen;

  const showFromTop = () => {
    scroller.scrollTop = 0;
    show();
  };
  const text = field('nodes-filter', showFromTop);
  const showing = picker('nodes-show', showFromTop);
  const policy = picker('nodes-policy', showFromTop);
  const rows = virtualRows(scroller, table, (/** @type {NodeRow} */ row) => rowOf(row, columns));
  const overview = nodeMap(byId('nodes-map'), (row) => choose(row.name));
  table.addEventListener('click', ({ target }) => {
    const button = target instanceof Element ? target.closest('button') : undefined;
    if (button?.dataset.node) choose(button.dataset.node);
  });

  /** @param {string} name */
  function choose(name) {
    chosen = chosen === name ? undefined : name;
    showChosen();
  }

  function showChosen() {
    const row = map?.rows.find(({ name }) => name === chosen);
    const details = byId('node-details');
    details.hidden = row === undefined;
    if (row && map) fill(details, [row, map.columns], () => detailsOf(row, map?.columns ?? []));
  }

  function show() {
    if (!map) return;
    const filter = /** @type {NodeFilter} */ ({
      text: text(),
      show: /** @type {Show} */ (showing()),
      policy: policy(),
    });
    const { shown, leftOut } = columnsOf(map, filter.policy);
    columns = shown;
    const found = map;
    fill(head, [found.columns, shown, totals(found)], () => headOf(found, shown));
    // Of which page.css makes the table's width: with rows that come and go, contents cannot.
    table.style.setProperty('--columns', String(shown.length));
    const visible = rowsOf(map, filter);
    rows.show(visible);
    const hidden = map.columnsLeftOut + leftOut;
    byId('nodes-count').textContent = [
      visible.length === map.rows.length
        ? counted(map.rows.length, 'node')
        : `${number(visible.length)} of ${counted(map.rows.length, 'node')}`,
      ...(map.unselected > 0 ? [`${number(map.unselected)} more that no policy selects`] : []),
      ...(hidden > 0 ? [`${counted(hidden, 'taint')} not shown: choose a policy`] : []),
    ].join(' · ');
    scroller.hidden = visible.length === 0;
    byId('nodes-none').hidden = visible.length > 0;
    showChosen();
  }

  return {
    /** @param {PageState} state */
    show(state) {
      map = state.nodes;
      absence('nodes', state, map !== undefined);
      if (!map) return;
      const names = [...new Set(map.columns.map((column) => column.policy))];
      fill(byId('nodes-policy'), names, () => [
        h('option', { value: '' }, 'every policy'),
        ...names.map((name) => h('option', { value: name }, name)),
      ]);
      overview.show(map);
      show();
    },
  };
}

/** @param {NodeMap} map @returns {Record<string, number>[]} for each column, how many nodes have which cell */
function totals({ columns, rows }) {
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
function headOf(map, shown) {
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
 * @param {NodeRow} row
 * @param {readonly number[]} columns
 */
function rowOf({ name, ready, cells, notes = [] }, columns) {
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
    h('td', { class: 'note', title: notes.join('; ') }, notes.join('; ')),
  );
}

/** @param {string | undefined} letter */
function cellOf(letter = '-') {
  const { sign, word } = CELLS[letter] ?? { sign: '', word: letter };
  if (word === '') return h('td', { class: 'cell none' }, drawn('–'), spoken('not selected'));
  return h('td', { class: `cell is-${word}` }, sign !== '' && drawn(`${sign} `), word);
}

/**
 * @param {NodeRow} row
 * @param {readonly NodeColumn[]} columns
 */
function detailsOf({ name, ready, cells, notes = [] }, columns) {
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
        const note = notes[troubled.indexOf(index)];
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
