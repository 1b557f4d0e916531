// @ts-check
import { h } from './dom.js';

/** Rows kept above and below those in view, so that scrolling does not show a gap. */
const OVERSCAN = 12;

/**
 * Shows any number of rows of equal height in a table that scrolls, of which only those near the view are in the document.
 * Two empty bodies around the real one take the space of the others. `aria-rowindex` is the position of a row.
 *
 * @template Row
 * @param {HTMLElement} scroller what scrolls the table
 * @param {HTMLTableElement} table with its head; bodies are added
 * @param {(row: Row) => HTMLTableRowElement} make
 * @returns {{ show(rows: readonly Row[]): void }}
 */
export function virtualRows(scroller, table, make) {
  const above = spacer();
  const below = spacer();
  const body = h('tbody');
  table.append(above.body, body, below.body);
  /** @type {readonly Row[]} */
  let rows = [];
  let from = 0;
  let to = 0;

  const draw = (/** @type {boolean} */ anew) => {
    const height = rowHeight(table);
    // There may be fewer rows than at the last scroll position.
    const top = Math.min(scroller.scrollTop, Math.max(0, rows.length * height - scroller.clientHeight));
    const first = Math.max(0, Math.floor(top / height) - OVERSCAN);
    const last = Math.min(rows.length, Math.ceil((top + scroller.clientHeight) / height) + OVERSCAN);
    if (!anew && first === from && last === to) return;
    [from, to] = [first, last];
    const focused = body.contains(document.activeElement) ? document.activeElement?.id : undefined;
    body.replaceChildren(
      ...rows.slice(from, to).map((row, index) => {
        const element = make(row);
        // The head is the first row.
        element.setAttribute('aria-rowindex', String(from + index + 2));
        return element;
      }),
    );
    above.resize(from * height);
    below.resize((rows.length - to) * height);
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  };
  scroller.addEventListener('scroll', () => draw(false), { passive: true });
  // Also when a hidden panel is shown.
  new ResizeObserver(() => draw(false)).observe(scroller);

  return {
    show(found) {
      rows = found;
      table.setAttribute('aria-rowcount', String(rows.length + 1));
      draw(true);
    },
  };
}

function spacer() {
  const cell = h('td');
  const body = h('tbody', { class: 'spacer', 'aria-hidden': 'true' }, h('tr', {}, cell));
  return {
    body,
    resize(/** @type {number} */ height) {
      body.hidden = height === 0;
      cell.style.height = `${height}px`;
    },
  };
}

/**
 * The height of a row by the style sheets (`--row`, in rem), in pixels.
 * @param {Element} table
 */
function rowHeight(table) {
  const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  return rem * Number.parseFloat(getComputedStyle(table).getPropertyValue('--row'));
}
