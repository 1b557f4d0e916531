// @ts-check
/** @import { Fix, PageState } from '../state.ts' */
import { amend, placeOf } from './address.js';
import { byId, fill, h, spoken } from './dom.js';
import { hrefOf } from './hrefs.js';

/**
 * Shows a panel's contents, or why there are none: only the leader of a cluster knows nodes and DaemonSets.
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
  const { leader } = state;
  fill(notice, leader, () => {
    if (leader.isThis)
      return [
        h('h3', {}, 'One moment'),
        h('p', {}, 'This replica has just become the leader, and is reading nodes and DaemonSets.'),
      ];
    if (leader.name === undefined) {
      return [
        h('h3', {}, 'No leader'),
        h('p', {}, 'Only the leader knows nodes and DaemonSets. A new leader is elected within seconds.'),
      ];
    }
    return [
      h('h3', {}, 'Another replica leads'),
      h('p', {}, 'Only the leader knows nodes and DaemonSets: ', h('span', { class: 'mono' }, leader.name), '.'),
      fixLine({ command: 'taintkeeper dashboard', note: 'Shows the page of the leader.' }, `${panel}-leader`),
    ];
  });
}

/** @param {readonly string[]} nodes by name */
export function nodeLinks(nodes) {
  return nodes.flatMap((node, index) => [index > 0 && ', ', h('a', { href: hrefOf('nodes', node) }, node)]);
}

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
    const { filters } = placeOf(tab);
    for (const { name, input } of inputs) {
      const { [name]: value = '' } = filters;
      if (input.value !== value) input.value = value;
    }
  };
}

/** How long a button shows that it has copied. */
const COPIED_MS = 2_000;

/**
 * A command that fixes a problem, with a button that copies it.
 * @param {Fix} fix
 * @param {string} id of the line, from which those of its parts are made
 */
export function fixLine({ command, note }, id) {
  return h(
    'span',
    { class: 'fix' },
    h(
      'span',
      { class: 'command' },
      h('code', { title: command }, command),
      h(
        'button',
        { type: 'button', class: 'copy', id: `${id}-copy`, 'data-copy': command },
        'Copy',
        spoken(` ${command}`),
      ),
    ),
    note !== '' && h('span', { class: 'quiet small' }, note),
  );
}

/** Lets the buttons of {@link fixLine} copy. */
export function copyButtons() {
  document.addEventListener('click', async ({ target }) => {
    const button = target instanceof Element ? target.closest('button') : undefined;
    const command = button?.dataset.copy;
    if (!button || command === undefined) return;
    const said = (await copy(command, button)) ? 'Copied' : 'Press Ctrl+C';
    const word = button.firstChild;
    if (word) word.nodeValue = said;
    byId('announcements').textContent = said;
    setTimeout(() => {
      if (word) word.nodeValue = 'Copy';
    }, COPIED_MS);
  });
}

/**
 * @param {string} text
 * @param {Element} button beside the text
 */
async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Only pages on loopback or by HTTPS may write to the clipboard. Elsewhere the command is selected, so that the user can copy it.
    const code = button.parentElement?.querySelector('code');
    if (code) getSelection()?.selectAllChildren(code);
    return false;
  }
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
