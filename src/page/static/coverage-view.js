// @ts-check
/** @import { CoverageMatrix, CoverageRow, PageState } from '../state.ts' */
import { ANSWERS, code, groupOf, headOf, lookOf, rowOf } from './coverage-cells.js';
import { byId, fill, h } from './dom.js';
import { absence, field, picker } from './panel-parts.js';
import { counted, number } from './words.js';

/** The largest groups come first, and a matrix that is wider than this is looked at with a purpose. */
const FEW_GROUPS = 40;

/** The panel of DaemonSets and groups of alike nodes. */
export function coverageView() {
  const table = /** @type {HTMLTableElement} */ (byId('coverage-table'));
  const head = h('tr');
  const body = h('tbody');
  table.append(h('thead', {}, head), body);
  /** @type {CoverageMatrix | undefined} */
  let matrix;
  let wide = false;

  const text = field('coverage-filter', show);
  const showing = picker('coverage-show', show);
  const more = byId('coverage-more');
  more.addEventListener('click', () => {
    wide = !wide;
    show();
  });
  gridKeys(table);
  for (const event of /** @type {const} */ (['focusin', 'mouseover'])) {
    table.addEventListener(event, ({ target }) => {
      const cell = target instanceof Element ? target.closest('td') : undefined;
      if (cell?.dataset.at) explain(cell.dataset.at);
    });
  }

  /** @param {string} at row and column, as `3/0` */
  function explain(at) {
    const [row = 0, column = 0] = at.split('/').map(Number);
    const daemonSet = matrix?.daemonSets[row];
    const group = matrix?.groups[column];
    const answer = matrix?.answers[daemonSet?.cells[column] ?? -1];
    if (!daemonSet || !group || !answer) return;
    const look = lookOf(answer);
    const { sign, word } = ANSWERS[look];
    fill(byId('coverage-answer'), [daemonSet, column, answer], () => [
      h('span', { class: 'mono' }, `${daemonSet.namespace}/${daemonSet.name}`),
      ' on ',
      h('strong', {}, `${code(column)}, ${group.label}`),
      ` (${counted(group.count, 'node')}): `,
      h('span', { class: `answer is-${look}` }, `${sign} ${word}`),
      answer.reasons.length > 0 ? `. ${answer.reasons.join('; ')}` : '',
    ]);
  }

  function show() {
    if (!matrix) return;
    const { groups, groupsLeftOut, daemonSets } = matrix;
    const found = matrix;
    const shown = wide ? groups.length : Math.min(groups.length, FEW_GROUPS);
    const needle = text().trim().toLowerCase();
    const rows = [...daemonSets.entries()]
      .filter(([, { namespace, name }]) => `${namespace}/${name}`.toLowerCase().includes(needle))
      .filter(([, row]) => matches(row, showing()));
    fill(head, [groups, shown], () => headOf(groups.slice(0, shown)));
    fill(body, [rows, groups, found.answers, shown], () => rows.map(([index, row]) => rowOf(found, index, row, shown)));
    if (!table.querySelector('td[tabindex="0"]')) makeTabStop(table);
    fill(byId('groups-body'), [groups, shown], () => groups.slice(0, shown).map(groupOf));
    byId('coverage-count').textContent = [
      rows.length === daemonSets.length
        ? counted(rows.length, 'DaemonSet')
        : `${number(rows.length)} of ${counted(daemonSets.length, 'DaemonSet')}`,
      `${counted(groups.length + groupsLeftOut, 'group')} of alike nodes`,
      ...(groupsLeftOut > 0 ? [`${number(groupsLeftOut)} of them, the smallest, not shown`] : []),
    ].join(' · ');
    more.hidden = groups.length <= FEW_GROUPS;
    more.textContent = wide ? `Show the ${FEW_GROUPS} largest groups` : `Show all ${groups.length} groups`;
    byId('coverage-scroller').hidden = rows.length === 0;
    byId('coverage-none').hidden = rows.length > 0;
    byId('coverage-none').textContent =
      daemonSets.length === 0 ? 'This cluster has no DaemonSets.' : 'No DaemonSet is like that.';
  }

  return {
    /** @param {PageState} state */
    show(state) {
      matrix = state.coverage;
      absence('coverage', state, matrix !== undefined);
      show();
    },
  };
}

/**
 * @param {CoverageRow} row
 * @param {string} wanted
 */
function matches({ keptOff, unavailable }, wanted) {
  if (wanted === 'tainted') return keptOff > 0;
  return wanted !== 'unavailable' || unavailable > 0;
}

/**
 * Lets the arrows, Home and End move over the cells of a table with `role="grid"`, which is one tab stop: the cell that had the
 * focus last, or the first one.
 *
 * @param {HTMLTableElement} table its cells (`td`) have `tabindex="-1"`
 */
function gridKeys(table) {
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
 * Makes one cell the tab stop; without one, the first cell of the table.
 * @param {HTMLTableElement} table
 * @param {HTMLTableCellElement | null} [cell]
 */
function makeTabStop(table, cell = table.querySelector('td')) {
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
