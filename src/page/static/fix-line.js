// @ts-check
/** @import { Fix } from '../state.ts' */
import { byId, h, spoken } from './dom.js';

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
