// @ts-check
/** @import { NodeCell, NodeMap, NodeRow } from '../state.ts' */
/** @import { Filters } from './words.js' */
import { breakable, drawn, h } from './dom.js';
import { explainNode, taintFix, whyNot } from './fixes.js';
import { losses, STATES } from './node-rows.js';
import { fixLine } from './panel-parts.js';
import { hrefOf } from './words.js';

export function headOf() {
  return [
    h('th', { scope: 'col', class: 'name' }, 'Node'),
    h('th', { scope: 'col', class: 'why' }, 'State'),
    h('th', { scope: 'col', class: 'kept' }, 'Kept taints'),
  ];
}

/**
 * @param {NodeMap} map
 * @param {NodeRow} row
 * @param {{ readonly chosen: boolean; readonly filters: Filters }} view
 */
export function rowOf(map, row, { chosen, filters }) {
  const { name, ready } = row;
  const bad = losses(map, row);
  const said = bad.map(({ cell, column, note }) => [
    state(cell),
    ' ',
    h('span', { class: 'mono' }, note.taint),
    h('span', { class: 'quiet' }, ` · ${whyNot(note.hindrance, map.columns[column])}`),
  ]);
  const why = said.length > 0 ? said.flatMap((one, index) => (index === 0 ? one : ['; ', ...one])) : [rest(row)];
  const kept = taintsIn(map, row, 'k').join(', ');
  const cell = h('td', { class: 'why' }, h('span', { class: 'clamped' }, ...why));
  // What does not fit into the line.
  if (bad.length > 0) cell.title = cell.textContent ?? '';
  return h(
    'tr',
    chosen ? { class: 'chosen' } : {},
    h(
      'th',
      { scope: 'row', class: 'name mono' },
      h(
        'a',
        {
          href: hrefOf('nodes', name, filters),
          id: `node-${name}`,
          title: name,
          'aria-current': chosen ? 'true' : undefined,
        },
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
  const { name, word, sign } = STATES[cell];
  return h('span', { class: `cell is-${name}` }, sign !== '' && drawn(`${sign} `), word);
}

/**
 * Of a node without trouble.
 * @param {NodeRow} row
 */
function rest({ cells }) {
  if (cells.includes('r')) return state('r');
  return cells.includes('k') ? state('k') : h('span', { class: 'quiet' }, 'nothing to keep');
}

/**
 * @param {NodeMap} map
 * @param {NodeRow} row
 * @param {NodeCell} wanted
 */
function taintsIn({ columns }, { cells }, wanted) {
  return columns.filter((_, column) => cells[column] === wanted).map(({ taint }) => taint);
}

/**
 * All that is known of a node.
 *
 * @param {NodeMap} map
 * @param {NodeRow} row
 * @param {{ readonly close: string; readonly decisions: number }} more the address without it; how many decisions there are about it
 */
export function detailsOf(map, row, { close, decisions }) {
  const { name, ready, cells, intruders } = row;
  const bad = losses(map, row);
  const told = new Set(bad.map(({ column }) => column));
  const others = [...map.columns.keys()].filter((column) => cells[column] !== '-' && !told.has(column));
  const source = (/** @type {number} */ index) => {
    const column = map.columns[index];
    if (!column) return [];
    const { policy, field, mode } = column;
    return [' · ', h('a', { href: hrefOf('policies', `TaintPolicy/${policy}`) }, policy), `, ${field}, ${mode}`];
  };
  const explain = explainNode(name);
  return [
    h('h3', { class: 'mono' }, name, h('span', { class: 'tag' }, ready ? 'ready' : 'not ready')),
    h('a', { href: close, class: 'close', id: 'node-details-close' }, 'Close'),
    h(
      'ul',
      {},
      ...bad.map(({ cell, column, note }, index) => {
        const fix = taintFix([name], note);
        return h(
          'li',
          {},
          state(cell),
          ' ',
          h('span', { class: 'mono' }, ...breakable(note.taint)),
          note.carries !== undefined && h('span', {}, ', carries ', h('span', { class: 'mono' }, note.carries)),
          h('span', { class: 'quiet' }, ...source(column), `: ${whyNot(note.hindrance, map.columns[column])}`),
          fix && fixLine(fix, `node-details-${index}`),
        );
      }),
      ...others.map((column) =>
        h(
          'li',
          {},
          state(/** @type {NodeCell} */ (cells[column])),
          ' ',
          h('span', { class: 'mono' }, ...breakable(map.columns[column]?.taint ?? '')),
          h('span', { class: 'quiet' }, ...source(column)),
        ),
      ),
    ),
    intruders !== undefined && h('p', {}, intruders),
    decisions > 0 &&
      h(
        'p',
        {},
        h('a', { href: hrefOf('decisions', '', { q: `Node ${name}` }) }, `Latest decisions about it: ${decisions}`),
      ),
    explain && fixLine(explain, 'node-details-explain'),
  ];
}

/**
 * Of a node in an address that is not among those that are known.
 * @param {string} name
 * @param {string} close the address without it
 */
export function unknownDetails(name, close) {
  const explain = explainNode(name);
  return [
    h('h3', { class: 'mono' }, name),
    h('a', { href: close, class: 'close', id: 'node-details-close' }, 'Close'),
    h('p', {}, 'No policy selects this node, or there is none of that name.'),
    explain && fixLine(explain, 'node-details-explain'),
  ];
}
