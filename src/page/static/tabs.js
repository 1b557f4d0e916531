// @ts-check
import { arrive, enter } from './address.js';

/**
 * The tabs pattern of the ARIA Authoring Practices: one tab stop, arrows, Home and End, the panel follows the focus.
 * The address has the selected tab (`#nodes`), so that it can be sent to a colleague and survives a reload. No element has that id, because
 * browsers would scroll to it.
 *
 * @param {HTMLElement} list with `role="tablist"`; its tabs have a `data-name`, and name their panels by `aria-controls`
 * @param {(name: string) => void} onSelect
 */
export function tabs(list, onSelect) {
  const all = [...list.querySelectorAll('[role=tab]')].filter((tab) => tab instanceof HTMLElement);
  const nameOf = (/** @type {HTMLElement} */ tab) => tab.dataset.name ?? '';

  const show = (/** @type {HTMLElement} */ chosen) => {
    for (const tab of all) {
      const selected = tab === chosen;
      tab.setAttribute('aria-selected', String(selected));
      tab.tabIndex = selected ? 0 : -1;
      const panel = document.getElementById(tab.getAttribute('aria-controls') ?? '');
      if (panel) panel.hidden = !selected;
    }
    onSelect(nameOf(chosen));
  };
  const select = (/** @type {HTMLElement} */ tab) => {
    enter(nameOf(tab));
    show(tab);
  };
  const inAddress = () => {
    const { tab } = arrive();
    return all.find((candidate) => nameOf(candidate) === tab);
  };

  list.addEventListener('click', ({ target }) => {
    const tab = all.find((candidate) => target instanceof Node && candidate.contains(target));
    if (tab) select(tab);
  });
  list.addEventListener('keydown', (event) => {
    const shown = all.filter((tab) => !tab.hidden);
    const next = neighbour(
      shown,
      shown.findIndex((tab) => tab.matches(':focus')),
      event.key,
    );
    if (!next) return;
    event.preventDefault();
    next.focus();
    select(next);
  });
  addEventListener('hashchange', () => {
    const tab = inAddress();
    if (tab) show(tab);
  });
  const first = inAddress() ?? all[0];
  if (first) show(first);
}

/**
 * @param {HTMLElement[]} all
 * @param {number} index of the one with the focus
 * @param {string} key
 */
function neighbour(all, index, key) {
  switch (key) {
    case 'ArrowRight':
      return all[(index + 1) % all.length];
    case 'ArrowLeft':
      return all.at(index - 1);
    case 'Home':
      return all[0];
    case 'End':
      return all.at(-1);
    default:
      return undefined;
  }
}
