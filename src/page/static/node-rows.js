// @ts-check
/** @import { NodeMap, NodeRow } from '../state.ts' */

/** @typedef {'all' | 'trouble' | 'm' | 'd' | 'c' | 'a' | 'unready'} Show */

/**
 * What of the nodes is to be seen.
 * @typedef {{ readonly text: string; readonly show: Show; readonly policy: string }} NodeFilter `policy` may be empty: all
 */

/** More columns than this are not read side by side. */
export const MAX_COLUMNS = 16;

/** The worst first. */
const WORST_FIRST = 'mdcrka-';

/**
 * The columns to show, by index: those with trouble first, then in the order of the policies.
 *
 * @param {NodeMap} map
 * @param {string} policy
 * @returns {{ readonly shown: readonly number[]; readonly leftOut: number }}
 */
export function columnsOf(map, policy) {
  const wanted = [...map.columns.keys()].filter((index) => policy === '' || map.columns[index]?.policy === policy);
  const troubled = wanted.filter((index) => map.rows.some(({ cells }) => isTrouble(cells[index])));
  const ordered =
    wanted.length <= MAX_COLUMNS ? wanted : [...troubled, ...wanted.filter((index) => !troubled.includes(index))];
  return { shown: ordered.slice(0, MAX_COLUMNS), leftOut: Math.max(0, ordered.length - MAX_COLUMNS) };
}

/**
 * The rows to show: those with trouble first, otherwise in the order of their names.
 *
 * @param {NodeMap} map
 * @param {NodeFilter} filter
 * @returns {NodeRow[]}
 */
export function rowsOf(map, { text, show, policy }) {
  const needle = text.trim().toLowerCase();
  const columns =
    policy === '' ? undefined : [...map.columns.keys()].filter((index) => map.columns[index]?.policy === policy);
  /** @type {NodeRow[]} */
  const troubled = [];
  /** @type {NodeRow[]} */
  const fine = [];
  for (const row of map.rows) {
    if (needle !== '' && !row.name.toLowerCase().includes(needle)) continue;
    const cells = columns ? columns.map((index) => row.cells[index] ?? '-').join('') : row.cells;
    if (columns && /^-*$/.test(cells)) continue;
    const bad = /[mdc]/.test(cells);
    if (!matches(row, cells, bad, show)) continue;
    (bad ? troubled : fine).push(row);
  }
  troubled.sort((a, b) => WORST_FIRST.indexOf(worst(a.cells)) - WORST_FIRST.indexOf(worst(b.cells)));
  return [...troubled, ...fine];
}

/**
 * @param {NodeRow} row
 * @param {string} cells
 * @param {boolean} bad
 * @param {Show} show
 */
function matches(row, cells, bad, show) {
  switch (show) {
    case 'all':
      return true;
    case 'trouble':
      return bad;
    case 'unready':
      return !row.ready;
    default:
      return cells.includes(show);
  }
}

/**
 * The worst of a node's cells.
 * @param {string} cells
 */
export function worst(cells) {
  return [...WORST_FIRST].find((letter) => cells.includes(letter)) ?? '-';
}

/** @param {string | undefined} cell */
export const isTrouble = (cell) => cell === 'm' || cell === 'd' || cell === 'c';
