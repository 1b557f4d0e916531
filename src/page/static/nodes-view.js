// @ts-check
/** @import { NodeMap, NodeRow, PageState } from '../state.ts' */
/** @import { NodeFilter, Show } from './node-rows.js' */

import { byId, fill, h } from './dom.js';
import { detailsOf, headOf, rowOf, totals } from './node-cells.js';
import { nodeMap } from './node-map.js';
import { columnsOf, rowsOf } from './node-rows.js';
import { absence, field, picker } from './panel-parts.js';
import { virtualRows } from './virtual-rows.js';
import { counted, number } from './words.js';

/** The panel of nodes and protected taints. */
export function nodesView() {
  const scroller = byId('nodes-scroller');
  const table = /** @type {HTMLTableElement} */ (byId('nodes-table'));
  const head = h('tr', { 'aria-rowindex': '1' });
  table.append(h('thead', {}, head));
  /** @type {NodeMap | undefined} */
  let map;
  /** @type {readonly number[]} */
  let columns = [];
  /** @type {string | undefined} */
  let chosen;

  const showFromTop = () => {
    scroller.scrollTop = 0;
    show();
  };
  const text = field('nodes-filter', showFromTop);
  const showing = picker('nodes-show', showFromTop);
  const policy = picker('nodes-policy', showFromTop);
  const rows = virtualRows(scroller, table, (/** @type {NodeRow} */ row) =>
    rowOf(/** @type {NodeMap} */ (map), row, columns),
  );
  const overview = nodeMap(byId('nodes-map'), (row) => choose(row.name));
  table.addEventListener('click', ({ target }) => {
    const button = target instanceof Element ? target.closest('button') : undefined;
    if (button?.dataset.node) choose(button.dataset.node);
  });

  /** @param {string} name */
  function choose(name) {
    chosen = chosen === name ? undefined : name;
    showChosen();
  }

  function showChosen() {
    const row = map?.rows.find(({ name }) => name === chosen);
    const details = byId('node-details');
    details.hidden = row === undefined;
    const found = map;
    if (row && found) fill(details, [row, found.columns, found.notes], () => detailsOf(found, row));
  }

  function show() {
    if (!map) return;
    const filter = /** @type {NodeFilter} */ ({
      text: text(),
      show: /** @type {Show} */ (showing()),
      policy: policy(),
    });
    const { shown, leftOut } = columnsOf(map, filter.policy);
    columns = shown;
    const found = map;
    fill(head, [found.columns, shown, totals(found)], () => headOf(found, shown));
    // Of which matrices.css makes the table's width: with rows that come and go, contents cannot.
    table.style.setProperty('--columns', String(shown.length));
    const visible = rowsOf(map, filter);
    rows.show(visible);
    const hidden = map.columnsLeftOut + leftOut;
    byId('nodes-count').textContent = [
      visible.length === map.rows.length
        ? counted(map.rows.length, 'node')
        : `${number(visible.length)} of ${counted(map.rows.length, 'node')}`,
      ...(map.unselected > 0 ? [`${number(map.unselected)} more that no policy selects`] : []),
      ...(hidden > 0 ? [`${counted(hidden, 'taint')} not shown: choose a policy`] : []),
    ].join(' · ');
    scroller.hidden = visible.length === 0;
    byId('nodes-none').hidden = visible.length > 0;
    showChosen();
  }

  return {
    /** @param {PageState} state */
    show(state) {
      map = state.nodes;
      absence('nodes', state, map !== undefined);
      if (!map) return;
      const names = [...new Set(map.columns.map((column) => column.policy))];
      const chooser = /** @type {HTMLSelectElement} */ (byId('nodes-policy'));
      const before = chooser.value;
      fill(chooser, names, () => [
        h('option', { value: '' }, 'every policy'),
        ...names.map((name) => h('option', { value: name }, name)),
      ]);
      // What was chosen stays so when others come and go.
      chooser.value = names.includes(before) ? before : '';
      overview.show(map);
      show();
    },
  };
}
