// @ts-check
/** @import { DecidedChange } from '../state.ts' */

/**
 * One line of a diff: added (`+`), removed (`-`), or unchanged (a blank).
 * @typedef {{ readonly sign: '+' | '-' | ' '; readonly text: string }} DiffLine
 */

/** How many unchanged items of a list are shown. */
const MAX_CONTEXT = 3;

/**
 * The diff of one changed value. Lists are compared item by item, and their order is ignored: writers replace lists of taints and tolerations
 * as a whole.
 *
 * @param {DecidedChange} change
 * @returns {{ readonly path: string; readonly lines: readonly DiffLine[] }} the path as kubectl writes it
 */
export function diff({ path, before, after }) {
  return {
    path: fieldOf(path),
    lines: Array.isArray(before) || Array.isArray(after) ? ofLists(before, after) : ofValues(before, after),
  };
}

/**
 * @param {unknown} before
 * @param {unknown} after
 * @returns {DiffLine[]}
 */
function ofValues(before, after) {
  return [
    ...(before === undefined ? [] : entries(before).map((entry) => line('-', entry))),
    ...(after === undefined ? [] : entries(after).map((entry) => line('+', entry))),
  ];
}

/**
 * @param {unknown} before
 * @param {unknown} after
 * @returns {DiffLine[]}
 */
function ofLists(before, after) {
  const gone = items(before);
  const lines = [];
  let context = 0;
  for (const item of items(after)) {
    const index = gone.indexOf(item);
    if (index < 0) {
      lines.push(line('+', item));
      continue;
    }
    gone.splice(index, 1);
    context++;
    if (context <= MAX_CONTEXT) lines.push(line(' ', item));
  }
  if (context > MAX_CONTEXT) lines.push(line(' ', `… ${context - MAX_CONTEXT} more that stay`));
  return [...gone.map((item) => line('-', item)), ...lines];
}

/** @param {unknown} value a list, or another value in its place */
function items(value) {
  if (Array.isArray(value)) return value.map(phrase);
  return value === undefined || value === null ? [] : [phrase(value)];
}

/** @param {unknown} value a map of texts, such as annotations, entry by entry; anything else as one */
function entries(value) {
  if (typeof value !== 'object' || value === null) return [phrase(value)];
  const found = Object.entries(value);
  const texts = found.length > 0 && found.every(([, text]) => typeof text === 'string');
  return texts && !('effect' in value || 'operator' in value)
    ? found.map(([key, text]) => `${key}: ${text}`)
    : [phrase(value)];
}

/**
 * @param {DiffLine['sign']} sign
 * @param {string} text
 * @returns {DiffLine}
 */
const line = (sign, text) => ({ sign, text });

/**
 * A value on one line: a taint or a toleration as kubectl writes it, any other value as JSON.
 * @param {unknown} value
 */
function phrase(value) {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value) ?? '';
  const { key, value: worth, effect, operator, ...others } = /** @type {Record<string, unknown>} */ (value);
  const plain = [key, worth, effect, operator].every((field) => field === undefined || typeof field === 'string');
  if (!plain || (key ?? operator) === undefined || Object.keys(others).length > 0) return JSON.stringify(value);
  const name = `${key ?? '*'}${worth ? `=${worth}` : ''}${effect ? `:${effect}` : ''}`;
  return operator === undefined ? name : `${name} (${operator})`;
}

/**
 * A JSON pointer (RFC 6901) as a field: `/spec/taints/0` is `spec.taints[0]`; a key with dots is in brackets.
 * @param {string} pointer
 */
function fieldOf(pointer) {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part) => (/^(\d+|-)$/.test(part) ? `[${part}]` : /[./]/.test(part) ? `["${part}"]` : `.${part}`))
    .join('')
    .replace(/^\./, '');
}
