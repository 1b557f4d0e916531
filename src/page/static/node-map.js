// @ts-check
/** @import { NodeCell, NodeMap, NodeRow } from '../state.ts' */
import { byId, fill, svg } from './dom.js';
import { STATES, worst } from './node-rows.js';
import { counted } from './words.js';

/**
 * A mark for every node with a protected taint, by name, so that a node keeps its position. Problems differ by form and colour. There is one
 * path for each kind of mark.
 *
 * @param {Element} target
 * @param {(row: NodeRow) => void} onChoose
 */
export function nodeMap(target, onChoose) {
  /** @type {NodeRow[]} */
  let rows = [];
  let perLine = 1;
  let size = 1;

  target.addEventListener('click', (event) => {
    if (!(event instanceof MouseEvent)) return;
    const picture = target.querySelector('svg')?.getBoundingClientRect();
    if (!picture) return;
    const column = Math.floor((event.clientX - picture.left) / size);
    const row = rows[Math.floor((event.clientY - picture.top) / size) * perLine + column];
    if (row && column < perLine) onChoose(row);
  });
  const draw = () => {
    if (target.clientWidth === 0) return;
    size = sizeFor(rows.length);
    perLine = Math.max(1, Math.floor(target.clientWidth / size));
    const states = rows.map(({ cells }) => worst(cells));
    fill(target, [states.join(''), perLine, size], () => [picture(states, perLine, size)]);
  };
  new ResizeObserver(draw).observe(target);

  return {
    /** @param {NodeMap} map */
    show(map) {
      rows = map.rows.filter(isDrawn);
      const others = map.rows.length - rows.length;
      byId('nodes-undrawn').textContent =
        others > 0 ? `not drawn: ${counted(others, 'node')} with nothing to keep` : '';
      draw();
    },
  };
}

/** @param {number} count @returns {number} pixels from one mark to the next */
function sizeFor(count) {
  if (count <= 120) return 20;
  if (count <= 1_200) return 13;
  return count <= 2_500 ? 9 : 7;
}

/**
 * @param {NodeCell[]} states
 * @param {number} perLine
 * @param {number} size
 */
function picture(states, perLine, size) {
  const height = Math.ceil(states.length / perLine) * size;
  const width = Math.min(states.length, perLine) * size;
  const shapes = SHAPES.flatMap(({ cell, shape }) => {
    const path = states.map((state, index) =>
      state === cell ? shape((index % perLine) * size, Math.floor(index / perLine) * size, size - 2) : '',
    );
    return states.includes(cell) ? [svg('path', { class: `mark ${STATES[cell].name}`, d: path.join('') })] : [];
  });
  const said = SHAPES.flatMap(({ cell }) => {
    const count = states.filter((state) => state === cell).length;
    return count > 0 ? [`${count} ${STATES[cell].word}`] : [];
  });
  const label = `${counted(states.length, 'node')} with taints to keep: ${said.join(', ')}. The table below has each of them.`;
  return svg('svg', { role: 'img', 'aria-label': label, width, height, viewBox: `0 0 ${width} ${height}` }, ...shapes);
}

/** @typedef {(x: number, y: number, size: number) => string} Shape path data within a square */

/** @type {Shape} */
const square = (x, y, s) => `M${x} ${y}h${s}v${s}h${-s}z`;
/** @type {Shape} */
const cross = (x, y, s) => `M${x} ${y}l${s} ${s}M${x + s} ${y}l${-s} ${s}`;
/** @type {Shape} */
const diamond = (x, y, s) => `M${x + s / 2} ${y}l${s / 2} ${s / 2}l${-s / 2} ${s / 2}l${-s / 2} ${-s / 2}z`;
/** @type {Shape} */
const triangle = (x, y, s) => `M${x + s / 2} ${y}l${s / 2} ${s}h${-s}z`;

/** @type {{ readonly cell: NodeCell; readonly shape: Shape }[]} */
const SHAPES = [
  { cell: 'k', shape: square },
  { cell: 'c', shape: triangle },
  { cell: 'd', shape: diamond },
  { cell: 'm', shape: cross },
];

const isDrawn = (/** @type {NodeRow} */ { cells }) => SHAPES.some(({ cell }) => cell === worst(cells));
