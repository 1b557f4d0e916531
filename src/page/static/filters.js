// @ts-check
import { addressOf, amend } from './address.js';
import { byId } from './dom.js';

/**
 * The filters of a panel. The address has their values.
 *
 * @param {string} tab
 * @param {Readonly<Record<string, string>>} ids of the inputs, by the name in the address
 * @param {() => void} onChange
 * @returns {() => void} sets the inputs from the address
 */
export function filters(tab, ids, onChange) {
  const inputs = Object.entries(ids).map(([name, id]) => ({
    name,
    input: /** @type {HTMLInputElement | HTMLSelectElement} */ (byId(id)),
  }));
  const changed = () => {
    amend(tab, { filters: Object.fromEntries(inputs.map(({ name, input }) => [name, input.value])) });
    onChange();
  };
  for (const { input } of inputs) {
    input.addEventListener('input', changed);
    if (input instanceof HTMLSelectElement) continue;
    input.addEventListener('keydown', ({ key }) => {
      if (key !== 'Escape' || input.value === '') return;
      input.value = '';
      changed();
    });
  }
  return () => {
    const { filters } = addressOf(tab);
    for (const { name, input } of inputs) {
      const { [name]: value = '' } = filters;
      if (input.value !== value) input.value = value;
    }
  };
}

/** `/` moves the focus to the filter of the panel in view. */
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
