// @ts-check
/** @import { NodeCell, NodeMap, NodeRow } from '../state.ts' */
/** @import { PageAddress } from './hrefs.js' */
import { h } from './dom.js';
import { hrefOf } from './hrefs.js';
import { mark } from './marks.js';
import { lossesOf, STATES } from './node-rows.js';

export function headOf() {
  return [
    h('th', { scope: 'col', class: 'name' }, 'Node'),
    h('th', { scope: 'col', class: 'why' }, 'State'),
    h('th', { scope: 'col', class: 'kept' }, 'Protected taints'),
  ];
}

/**
 * @param {NodeMap} map
 * @param {NodeRow} row
 * @param {Pick<PageAddress, 'object' | 'filters'>} address
 */
export function rowOf(map, row, { object, filters }) {
  const { name, ready } = row;
  const chosen = name === object;
  const lost = lossesOf(map, row);
  const said = lost.map(({ cell, note }) => [
    state(cell),
    ' ',
    h('span', { class: 'mono' }, note.taint),
    h('span', { class: 'quiet' }, ` · ${note.why}`),
  ]);
  const why = said.length > 0 ? said.flatMap((one, index) => (index === 0 ? one : ['; ', ...one])) : [rest(row)];
  const kept = taintsIn(map, row, 'k').join(', ');
  const cell = h('td', { class: 'why' }, h('span', { class: 'clamped' }, ...why));
  // The title has the text that does not fit.
  if (lost.length > 0) cell.title = cell.textContent ?? '';
  return h(
    'tr',
    chosen ? { class: 'chosen' } : {},
    h(
      'th',
      { scope: 'row', class: 'name mono' },
      h(
        'a',
        { href: hrefOf('nodes', name, filters), id: `node-${name}`, title: name, 'aria-current': chosen && 'true' },
        name,
      ),
      !ready && h('span', { class: 'tag' }, 'not ready'),
    ),
    cell,
    h('td', { class: 'kept mono quiet', title: kept }, kept),
  );
}

/** @param {NodeCell} cell */
function state(cell) {
  const { name, word } = STATES[cell];
  return h('span', { class: `is-${name}` }, mark(cell), ' ', word);
}

/**
 * The state of a node without a problem.
 * @param {NodeRow} row
 */
function rest({ cells }) {
  if (cells.includes('r')) return state('r');
  if (cells.includes('k')) return state('k');
  return cells.includes('u') ? state('u') : h('span', { class: 'quiet' }, 'no protected taint');
}

/**
 * @param {NodeMap} map
 * @param {NodeRow} row
 * @param {NodeCell} cell
 */
function taintsIn({ columns }, { cells }, cell) {
  return columns.filter((_, column) => cells[column] === cell).map(({ taint }) => taint);
}
