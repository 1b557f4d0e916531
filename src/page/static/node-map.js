// @ts-check
/** @import { NodeCell, NodeMap, NodeRow } from '../state.ts' */
import { byId, fill, h, svg } from './dom.js';
import { hasProblem, SHAPES, STATES, worst } from './node-rows.js';
import { counted, number } from './words.js';

/** The others have no room. They are the smallest without a problem. */
const MAX_POOLS = 40;

/**
 * The drawn nodes of a pool.
 * @typedef {object} Pool
 * @property {string} name
 * @property {NodeRow[]} rows by name
 * @property {number} bad how many of them have a problem
 */

/**
 * A mark for every node with a taint that a policy protects or reports, grouped by pool: the pool with the most problems first, then the largest. Within a pool, nodes are
 * ordered by name, so that a node keeps its position. Problems differ by form and colour. There is one path for each kind of mark in a pool.
 *
 * @param {Element} target
 * @param {(row: NodeRow) => void} onChoose
 */
export function nodeMap(target, onChoose) {
  /** @type {Pool[]} */
  let pools = [];
  let perLine = 1;
  let size = 1;

  target.addEventListener('click', (event) => {
    if (!(event instanceof MouseEvent) || !(event.target instanceof Element)) return;
    const drawing = event.target.closest('svg');
    const pool = pools[Number(drawing?.dataset.pool)];
    if (!drawing || !pool) return;
    const { left, top } = drawing.getBoundingClientRect();
    const column = Math.floor((event.clientX - left) / size);
    const row = pool.rows[Math.floor((event.clientY - top) / size) * perLine + column];
    if (row && column < perLine) onChoose(row);
  });
  const draw = () => {
    if (target.clientWidth === 0) return;
    const all = pools.reduce((sum, { rows }) => sum + rows.length, 0);
    size = sizeFor(all);
    perLine = Math.max(1, Math.floor(target.clientWidth / size));
    const drawn = pools.map(({ name, rows }) => [name, rows.map(({ cells }) => worst(cells)).join('')]);
    fill(target, [drawn, perLine, size], () => pools.map((pool, index) => poolOf(pool, index, perLine, size)));
  };
  new ResizeObserver(draw).observe(target);

  return {
    /** @param {NodeMap} map */
    show(map) {
      const rows = map.rows.filter(isDrawn);
      pools = poolsOf(map, rows);
      const others = map.rows.length - rows.length + map.unselected;
      byId('nodes-undrawn').textContent =
        others > 0 ? `${counted(others, 'node')} without a protected or audited taint` : '';
      draw();
    },
  };
}

/**
 * @param {NodeMap} map
 * @param {NodeRow[]} rows those that are drawn
 * @returns {Pool[]}
 */
function poolsOf({ pools: names }, rows) {
  const found = [...Map.groupBy(rows, ({ pool }) => pool)].map(([pool, rows]) => ({
    name: names[pool] ?? '',
    rows,
    bad: rows.filter(({ cells }) => hasProblem(cells)).length,
  }));
  return found.sort((a, b) => b.bad - a.bad || b.rows.length - a.rows.length).slice(0, MAX_POOLS);
}

/** @param {number} count @returns {number} pixels from one mark to the next */
function sizeFor(count) {
  if (count <= 120) return 20;
  if (count <= 1_200) return 13;
  return count <= 2_500 ? 9 : 7;
}

/**
 * @param {Pool} pool
 * @param {number} index
 * @param {number} perLine
 * @param {number} size
 */
function poolOf({ name, rows }, index, perLine, size) {
  const states = rows.map(({ cells }) => worst(cells));
  const counts = DRAWN.flatMap((cell) => {
    const count = states.filter((state) => state === cell).length;
    return count > 0 ? [{ cell, text: `${number(count)} ${STATES[cell].word}` }] : [];
  });
  return h(
    'section',
    { class: 'pool' },
    h(
      'h3',
      {},
      h('span', { class: 'mono' }, name),
      h('span', { class: 'quiet' }, ` · ${counted(rows.length, 'node')}`),
      ...counts.map(({ cell, text }) =>
        h('span', { class: cell === 'k' || cell === 'u' ? 'quiet' : `is-${STATES[cell].name}` }, `, ${text}`),
      ),
    ),
    picture(states, index, perLine, size, `${name}: ${counts.map(({ text }) => text).join(', ')}`),
  );
}

/**
 * @param {NodeCell[]} states
 * @param {number} pool
 * @param {number} perLine
 * @param {number} size
 * @param {string} label
 */
function picture(states, pool, perLine, size, label) {
  const height = Math.ceil(states.length / perLine) * size;
  const width = Math.min(states.length, perLine) * size;
  const shapes = DRAWN.flatMap((cell) => {
    const shape = SHAPES[cell];
    if (shape === undefined || !states.includes(cell)) return [];
    const path = states.map((state, index) =>
      state === cell ? shape((index % perLine) * size, Math.floor(index / perLine) * size, size - 2) : '',
    );
    return [svg('path', { class: `mark ${STATES[cell].name}`, d: path.join('') })];
  });
  const box = { width, height, viewBox: `0 0 ${width} ${height}` };
  return svg(
    'svg',
    { role: 'img', 'aria-label': `${label}. The table below has each of them.`, 'data-pool': pool, ...box },
    ...shapes,
  );
}

/** What is drawn, the worst last, so that it is on top. */
const DRAWN = /** @type {const} */ (['u', 'k', 'r', 'c', 'd', 'm']);

const isDrawn = (/** @type {NodeRow} */ { cells }) => DRAWN.some((cell) => cell === worst(cells));
