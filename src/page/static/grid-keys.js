// @ts-check

/**
 * Lets the arrows, Home and End move over the cells of a table with `role="grid"`, which is one tab stop: the cell that had the
 * focus last, or the first one.
 *
 * @param {HTMLTableElement} table its cells (`td`) have `tabindex="-1"`
 */
export function gridKeys(table) {
  table.addEventListener('focusin', ({ target }) => {
    if (target instanceof HTMLTableCellElement) makeTabStop(table, target);
  });
  table.addEventListener('keydown', (event) => {
    const cell = event.target;
    if (!(cell instanceof HTMLTableCellElement)) return;
    const next = neighbour(cell, event.key, event.ctrlKey);
    if (!next) return;
    event.preventDefault();
    next.focus();
    next.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  });
}

/**
 * Makes one cell the tab stop, by default the first cell of the table.
 * @param {HTMLTableElement} table
 * @param {HTMLTableCellElement | null} [cell]
 */
export function makeTabStop(table, cell = table.querySelector('td')) {
  for (const other of table.querySelectorAll('td[tabindex="0"]')) other.setAttribute('tabindex', '-1');
  cell?.setAttribute('tabindex', '0');
}

/**
 * @param {HTMLTableCellElement} cell
 * @param {string} key
 * @param {boolean} far
 * @returns {HTMLElement | undefined}
 */
function neighbour(cell, key, far) {
  const row = cell.closest('tr');
  const rows = [...(cell.closest('tbody')?.rows ?? [])];
  if (!row) return undefined;
  const cells = [...row.querySelectorAll('td')];
  const column = cells.indexOf(cell);
  const inRow = (/** @type {number} */ index) => rows[index]?.querySelectorAll('td')[column];
  switch (key) {
    case 'ArrowRight':
      return cells[column + 1];
    case 'ArrowLeft':
      return cells[column - 1];
    case 'ArrowDown':
      return inRow(rows.indexOf(row) + 1);
    case 'ArrowUp':
      return inRow(rows.indexOf(row) - 1);
    case 'Home':
      return far ? rows[0]?.querySelectorAll('td')[0] : cells[0];
    case 'End':
      return far ? [...(rows.at(-1)?.querySelectorAll('td') ?? [])].at(-1) : cells.at(-1);
    default:
      return undefined;
  }
}
