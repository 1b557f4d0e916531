// @ts-check
/** @import { Level } from './problems.js' */

/** @typedef {Node | string | undefined | false} Child */
/** @typedef {Record<string, string | number | boolean | undefined>} Attributes */

/**
 * Makes an element. Strings become text, never markup, because most of them come from the cluster.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes] `undefined` and `false` leave an attribute out, `true` sets it empty
 * @param {Child[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  append(element, children);
  return element;
}

/**
 * Makes an SVG element.
 *
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {Child[]} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  setAttributes(element, attributes);
  append(element, children);
  return element;
}

/**
 * The element of the page with this id.
 * @param {string} id
 * @returns {HTMLElement}
 * @throws Error when the page has none: page and script do not belong together
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element ${id}`);
  return element;
}

/** @param {string} text for screen readers */
export const spoken = (text) => h('span', { class: 'spoken' }, text);

/** @param {string} text hidden from screen readers, because a word nearby has the same meaning */
export const drawn = (text) => h('span', { 'aria-hidden': 'true' }, text);

/**
 * Text that may break after the characters at which names of Kubernetes are read.
 * @param {string} text
 */
export function breakable(text) {
  const parts = text.split(/(?<=[/:=.@])/);
  return parts.flatMap((part, index) => (index === 0 ? [part] : [h('wbr'), part]));
}

/**
 * Replaces the contents of an element if their source has changed. Keeps the focus.
 *
 * @param {Element} target
 * @param {unknown} source all that the contents depend on
 * @param {() => Child[]} make
 */
export function fill(target, source, make) {
  const fingerprint = JSON.stringify(source) ?? '';
  if (filled.get(target) === fingerprint) return;
  filled.set(target, fingerprint);
  const { activeElement } = document;
  const focused = activeElement && target.contains(activeElement) ? activeElement.id : '';
  target.replaceChildren(...children(make()));
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

/**
 * Makes these the children of a list. Elements that are in place are not moved, so that a selection stays.
 *
 * @param {Element} list
 * @param {readonly Element[]} elements
 */
export function arrange(list, elements) {
  const staying = new Set(elements);
  for (const child of [...list.children]) if (!staying.has(child)) child.remove();
  let next = list.firstElementChild;
  for (const element of elements) {
    if (element === next) next = next.nextElementSibling;
    else list.insertBefore(element, next);
  }
}

/**
 * Moves an element if it is not in place: a moved element loses the focus.
 * @param {Element} next
 * @param {Element} element
 */
export function putBefore(next, element) {
  if (next.previousElementSibling !== element) next.before(element);
}

/** @type {WeakMap<Element, string>} */
const filled = new WeakMap();

/**
 * @param {Element} element
 * @param {Attributes} attributes
 */
function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? '' : String(value));
  }
}

/** A sign for each level, so that colours are not the only difference. */
export const SIGNS = { ok: '✓', attention: '!', failed: '✕' };

/**
 * A word with the sign and the colour of its level.
 * @param {Level} level
 * @param {string} word
 */
export function signed(level, word) {
  return h('span', { class: `state is-${level}` }, drawn(`${SIGNS[level]} `), word);
}

/**
 * Spells out invisible and bidirectional characters, so that a name does not look like another one.
 * @param {string} text
 */
function visible(text) {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (c) =>
    c === '\n' || c === '\t' ? c : `\\u{${c.codePointAt(0)?.toString(16)}}`,
  );
}

/**
 * @param {Element} element
 * @param {Child[]} content
 */
function append(element, content) {
  element.append(...children(content));
}

/**
 * @param {Child[]} content
 * @returns {(Node | string)[]}
 */
function children(content) {
  return content.flatMap((child) =>
    child === undefined || child === false || child === '' ? [] : [typeof child === 'string' ? visible(child) : child],
  );
}
