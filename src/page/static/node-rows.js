// @ts-check
/** @import { LostCell, NodeCell, NodeMap, NodeNote, NodeRow } from '../state.ts' */

/**
 * The states of a taint on a node: the word, which `taintkeeper explain` has too, and the name in addresses and style sheets. Their signs are {@link SHAPES}.
 * @type {Readonly<Record<NodeCell, { readonly name: string; readonly word: string }>>}
 */
export const STATES = {
  m: { name: 'missing', word: 'missing' },
  d: { name: 'another-value', word: 'another value' },
  c: { name: 'conflict', word: 'conflict' },
  r: { name: 'kept-off', word: 'kept-off' },
  k: { name: 'protected', word: 'protected' },
  u: { name: 'audited', word: 'audited' },
  a: { name: 'none', word: 'none' },
  '-': { name: 'unselected', word: 'not selected' },
};

/**
 * The state for which an explanation has this word.
 * @param {string} word
 * @returns {NodeCell | undefined}
 */
export function cellOfWord(word) {
  const cells = /** @type {NodeCell[]} */ (['m', 'd', 'c', 'r', 'k', 'u']);
  return cells.find((cell) => STATES[cell].word === word);
}

/** @typedef {(x: number, y: number, size: number) => string} Shape path data within a square */

/**
 * The sign of each state of a taint on a node, the same in the map, the table, the panel and the legend. They differ by form and colour.
 * @type {Readonly<Partial<Record<NodeCell, Shape>>>}
 */
export const SHAPES = {
  k: (x, y, s) => `M${x} ${y}h${s}v${s}h${-s}z`,
  u: (x, y, s) => `M${x + 1} ${y + 1}h${s - 2}v${s - 2}h${2 - s}z`,
  c: (x, y, s) => `M${x + s / 2} ${y}l${s / 2} ${s}h${-s}z`,
  d: (x, y, s) => `M${x + s / 2} ${y}l${s / 2} ${s / 2}l${-s / 2} ${s / 2}l${-s / 2} ${-s / 2}z`,
  m: (x, y, s) => `M${x} ${y}l${s} ${s}M${x + s} ${y}l${-s} ${s}`,
  r: (x, y, s) => `M${x} ${y + s / 2}h${s}`,
};

/**
 * The filters of nodes. An empty filter matches all.
 * @typedef {object} NodeFilter
 * @property {string} [q] a part of the name
 * @property {string} [show] `problem`, `unready`, or the name of a state
 * @property {string} [policy]
 */

/** The worst first. */
const WORST_FIRST = 'mdcrkua-';

/**
 * The lost cells of a node with their notes, the worst first.
 *
 * @param {NodeMap} map
 * @param {NodeRow} row
 * @returns {{ readonly cell: LostCell; readonly note: NodeNote }[]}
 */
export function lossesOf({ notes }, { cells, losses = [] }) {
  const found = losses.flatMap(([column, index]) => {
    const cell = cells[column];
    const note = notes[index];
    return isLost(cell) && note ? [{ cell, note }] : [];
  });
  return found.sort((a, b) => WORST_FIRST.indexOf(a.cell) - WORST_FIRST.indexOf(b.cell));
}

/**
 * The rows to show, by name: those with a problem first, and among these, problems of policies in mode Audit last.
 *
 * @param {NodeMap} map
 * @param {NodeFilter} filter
 * @returns {NodeRow[]}
 */
export function rowsOf(map, { q = '', show = '', policy = '' }) {
  const needle = q.trim().toLowerCase();
  const columns =
    policy === '' ? undefined : [...map.columns.keys()].filter((index) => map.columns[index]?.policy === policy);
  const matches = matching(show);
  /** @type {NodeRow[]} */
  const withProblems = [];
  /** @type {NodeRow[]} */
  const fine = [];
  for (const row of map.rows) {
    if (needle !== '' && !row.name.toLowerCase().includes(needle)) continue;
    const cells = columns ? columns.map((index) => row.cells[index] ?? '-').join('') : row.cells;
    if (columns && /^-*$/.test(cells)) continue;
    if (!matches(row, cells)) continue;
    (hasProblem(cells) ? withProblems : fine).push(row);
  }
  const binding = map.columns.map(({ mode }) => mode !== 'Audit');
  const rank = (/** @type {NodeRow} */ { cells }) => {
    const bound = worst([...cells].filter((_, column) => binding[column]).join(''));
    return isLost(bound) ? WORST_FIRST.indexOf(bound) : WORST_FIRST.length + WORST_FIRST.indexOf(worst(cells));
  };
  const ranks = new Map(withProblems.map((row) => [row, rank(row)]));
  withProblems.sort((a, b) => (ranks.get(a) ?? 0) - (ranks.get(b) ?? 0));
  return [...withProblems, ...fine];
}

/**
 * @param {string} show
 * @returns {(row: NodeRow, cells: string) => boolean} of a node, with those of its cells that count
 */
function matching(show) {
  if (show === '') return () => true;
  if (show === 'problem') return (_, cells) => hasProblem(cells);
  if (show === 'unready') return ({ ready }) => !ready;
  const [letter] = Object.entries(STATES).find(([, { name }]) => name === show) ?? [];
  return (_, cells) => letter !== undefined && cells.includes(letter);
}

/** @param {string} cells */
export const hasProblem = (cells) => /[mdc]/.test(cells);

/**
 * The worst of a node's cells.
 * @param {string} cells
 * @returns {NodeCell}
 */
export function worst(cells) {
  const letters = /** @type {NodeCell[]} */ ([...WORST_FIRST]);
  return letters.find((letter) => cells.includes(letter)) ?? '-';
}

/**
 * @param {string | undefined} cell
 * @returns {cell is LostCell}
 */
const isLost = (cell) => cell === 'm' || cell === 'd' || cell === 'c';
