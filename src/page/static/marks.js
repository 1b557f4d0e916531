// @ts-check
/** @import { NodeCell } from '../state.ts' */
import { svg } from './dom.js';
import { SHAPES, STATES } from './node-rows.js';

/** In pixels. */
const SIZE = 12;

/**
 * The sign of a state, drawn beside its word.
 * @param {NodeCell} cell
 */
export function mark(cell) {
  const shape = SHAPES[cell];
  if (shape === undefined) return undefined;
  const path = svg('path', { class: `mark ${STATES[cell].name}`, d: shape(1, 1, SIZE - 2) });
  const box = { class: 'sign', 'aria-hidden': 'true', width: SIZE, height: SIZE, viewBox: `0 0 ${SIZE} ${SIZE}` };
  return svg('svg', box, path);
}
