// @ts-check
import { byId } from './dom.js';

/**
 * A text field that filters as one types.
 * @param {string} id
 * @param {() => void} onChange
 * @returns {() => string} what stands in it
 */
export function field(id, onChange) {
  const input = /** @type {HTMLInputElement} */ (byId(id));
  input.addEventListener('input', onChange);
  input.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape' || input.value === '') return;
    input.value = '';
    onChange();
  });
  return () => input.value;
}

/**
 * A list to choose from.
 * @param {string} id
 * @param {() => void} onChange
 * @returns {() => string} the value that is chosen
 */
export function picker(id, onChange) {
  const select = /** @type {HTMLSelectElement} */ (byId(id));
  select.addEventListener('change', onChange);
  return () => select.value;
}

/** `/` goes to the filter of the panel in view, as in other tools for people who type. */
export function slashFocusesFilter() {
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof HTMLElement && event.target.matches('input, select, textarea')) return;
    const input = document.querySelector('[role=tabpanel]:not([hidden]) input[type=search]');
    if (!(input instanceof HTMLInputElement) || input.offsetParent === null) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
}
