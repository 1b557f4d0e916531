// @ts-check
/** @import { CoverageMatrix, CoverageRow, PageDecision, PageState } from '../state.ts' */

import { absence } from './absence.js';
import { addressOf } from './address.js';
import { groupOf, headOf, rowOf, summaryOf } from './coverage-cells.js';
import { ANSWERS, answerName, groupNames } from './coverage-words.js';
import { byId, fill, h, putBefore } from './dom.js';
import { asker, showDetails } from './explanation.js';
import { filters } from './filters.js';
import { gridKeys, makeTabStop } from './grid-keys.js';
import { hrefOf } from './hrefs.js';
import { counted, countedOf, number } from './words.js';

/** A wider matrix is shown on request only. The largest groups come first. */
const FEW_GROUPS = 40;

/**
 * The panel of DaemonSets and groups of equal nodes.
 * @param {(kind: 'DaemonSet', name: string) => readonly PageDecision[]} decisionsOn the latest that are about it
 */
export function coverageView(decisionsOn) {
  const table = /** @type {HTMLTableElement} */ (byId('coverage-table'));
  const head = h('tr');
  const body = h('tbody');
  table.append(h('thead', {}, head), body);
  /** @type {CoverageMatrix | undefined} */
  let matrix;
  let wide = false;

  /** Of the state. */
  let version = '';
  /** @type {readonly string[]} of the groups */
  let names = [];

  const inputs = filters('coverage', { q: 'coverage-filter', show: 'coverage-show' }, show);
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
    const kind = answerName(answer);
    const { sign, word } = ANSWERS[kind];
    fill(byId('coverage-answer'), [daemonSet, column, answer], () => [
      h('span', { class: 'mono' }, `${daemonSet.namespace}/${daemonSet.name}`),
      ' on ',
      h('strong', {}, names[column]),
      ` (${counted(group.count, 'node')}): `,
      h('span', { class: `answer is-${kind}` }, `${sign} ${word}`),
      answer.reasons.length > 0 ? `. ${answer.reasons.join('; ')}` : '',
    ]);
  }

  const scroller = byId('coverage-scroller');
  /** A narrow window shows a few columns, and the scroll bars of phones are hidden. */
  const hint = () => {
    byId('coverage-hint').hidden = scroller.scrollWidth <= scroller.clientWidth || scroller.scrollLeft > 0;
  };
  scroller.addEventListener('scroll', hint, { passive: true });
  new ResizeObserver(hint).observe(scroller);

  const asked = asker(showChosen);

  function showChosen() {
    const { object, filters } = addressOf('coverage');
    const row = matrix?.daemonSets.find((one) => nameOf(one) === object);
    showDetails(byId('daemonset-details'), asked.about(object && `daemonset/${object}`, version), {
      kind: 'daemonset',
      object,
      close: hrefOf('coverage', '', filters),
      tag: '',
      ...(row ? { summary: summaryOf(row) } : {}),
      decisions: decisionsOn('DaemonSet', object),
    });
  }

  function show() {
    if (!matrix) return;
    const { groups, groupsLeftOut, daemonSets } = matrix;
    const shownMatrix = matrix;
    const shown = wide ? groups.length : Math.min(groups.length, FEW_GROUPS);
    const { object, filters } = addressOf('coverage');
    const { q = '', show: filter = '' } = filters;
    const needle = q.trim().toLowerCase();
    const rows = [...daemonSets.entries()]
      .filter(([, row]) => nameOf(row).toLowerCase().includes(needle))
      .filter(([, row]) => matches(row, filter))
      .sort(([, a], [, b]) => gravity(b) - gravity(a));
    names = groupNames(groups);
    fill(head, [groups, shown], () => headOf(groups.slice(0, shown), names));
    fill(body, [rows, groups, shownMatrix.answers, shown, object, filters], () =>
      rows.map(([index, row]) => rowOf(shownMatrix, index, row, { shown, chosen: nameOf(row) === object, filters })),
    );
    showChosen();
    if (!table.querySelector('td[tabindex="0"]')) makeTabStop(table);
    fill(byId('groups-body'), [groups, shown], () =>
      groups.slice(0, shown).map((group, index) => groupOf(group, names[index] ?? '')),
    );
    byId('coverage-count').textContent = [
      countedOf(rows.length, daemonSets.length, 'DaemonSet'),
      `${counted(groups.length + groupsLeftOut, 'kind')} of nodes`,
      ...(groupsLeftOut > 0 ? [`${number(groupsLeftOut)} of them, the smallest, not shown`] : []),
    ].join(' · ');
    more.hidden = groups.length <= FEW_GROUPS;
    more.textContent = wide ? `Show the ${FEW_GROUPS} largest kinds` : `Show all ${groups.length} kinds of nodes`;
    byId('coverage-scroller').hidden = rows.length === 0;
    hint();
    byId('coverage-none').hidden = rows.length > 0;
    byId('coverage-none').textContent =
      daemonSets.length === 0 ? 'This cluster has no DaemonSets.' : 'No DaemonSet matches.';
  }

  return {
    /** @param {PageState} state */
    show(state) {
      matrix = state.coverage;
      version = state.at;
      absence('coverage', state, matrix !== undefined);
      putBefore(byId(matrix ? 'coverage-answer' : 'coverage-absent'), byId('daemonset-details'));
      inputs();
      if (!matrix) return showChosen();
      show();
    },
    /** Called after new decisions. */
    decided: showChosen,
  };
}

/** @param {CoverageRow} row */
const nameOf = ({ namespace, name }) => `${namespace}/${name}`;

/** @param {CoverageRow} row */
const isKeptOff = ({ keptOff, optsOut }) => keptOff > 0 && !optsOut;

/** @param {CoverageRow} row @returns {number} the severity */
const gravity = (row) => (row.gap ? 3 : row.unavailable > 0 ? 2 : isKeptOff(row) ? 1 : 0);

/**
 * @param {CoverageRow} row
 * @param {string} filter
 */
function matches(row, filter) {
  if (filter === 'tainted') return isKeptOff(row);
  return filter !== 'unavailable' || row.unavailable > 0;
}
