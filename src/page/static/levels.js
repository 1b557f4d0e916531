// @ts-check
/** @import { Level } from './troubles.js' */
import { drawn, h } from './dom.js';

/** By form, so that nothing hangs on colours alone. */
export const SIGNS = { ok: '✓', attention: '!', failed: '✕' };

/**
 * A word with the sign and the colour of its level.
 * @param {Level} level
 * @param {string} word
 */
export function signed(level, word) {
  return h('span', { class: `state is-${level}` }, drawn(`${SIGNS[level]} `), word);
}
