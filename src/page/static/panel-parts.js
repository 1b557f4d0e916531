// @ts-check
/** @import { PageState } from '../state.ts' */
import { byId, fill, h } from './dom.js';

/**
 * Shows a panel's contents, or why there are none: nodes and DaemonSets are known to the leader of a cluster alone.
 *
 * @param {'nodes' | 'coverage'} panel with a part `-present` and a part `-absent`
 * @param {PageState} state
 * @param {boolean} present
 */
export function absence(panel, state, present) {
  byId(`${panel}-present`).hidden = !present;
  const notice = byId(`${panel}-absent`);
  notice.hidden = present;
  if (present) return;
  const { mode, leader } = state;
  fill(notice, [mode, leader], () => {
    if (mode === 'standalone') {
      return [
        h('h3', {}, 'No cluster'),
        h(
          'p',
          {},
          'This taintkeeper takes its policies from files and judges what it is sent. It knows no nodes and no DaemonSets.',
        ),
      ];
    }
    if (leader.isThis)
      return [
        h('h3', {}, 'One moment'),
        h('p', {}, 'This replica has just become the leader, and is reading nodes and DaemonSets.'),
      ];
    if (leader.name === undefined) {
      return [
        h('h3', {}, 'Nobody leads'),
        h(
          'p',
          {},
          'Nodes and DaemonSets are known to the leader, and there is none at the moment. A new one is elected within seconds.',
        ),
      ];
    }
    return [
      h('h3', {}, 'Another replica leads'),
      h(
        'p',
        {},
        'Nodes and DaemonSets are known to the leader alone: ',
        h('span', { class: 'mono' }, leader.name),
        '.',
      ),
      h('p', {}, 'To see its page: ', h('code', {}, 'taintkeeper dashboard'), ', which always goes to the leader.'),
    ];
  });
}

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
