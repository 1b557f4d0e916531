// @ts-check
/** @import { NodeMap, NodeRow, PageState } from '../state.ts' */

import { placeOf } from './address.js';
import { byId, fill, h } from './dom.js';
import { detailsOf, headOf, rowOf, unknownDetails } from './node-cells.js';
import { nodeMap } from './node-map.js';
import { rowsOf } from './node-rows.js';
import { absence, filters } from './panel-parts.js';
import { virtualRows } from './virtual-rows.js';
import { counted, hrefOf, number } from './words.js';

/**
 * The panel of nodes and protected taints.
 * @param {(node: string) => number} decisionsOn how many of the latest decisions are about it
 */
export function nodesView(decisionsOn) {
  const scroller = byId('nodes-scroller');
  const table = /** @type {HTMLTableElement} */ (byId('nodes-table'));
  table.append(h('thead', {}, h('tr', { 'aria-rowindex': '1' }, ...headOf())));
  /** @type {NodeMap | undefined} */
  let map;
  /** By which the rows in view were chosen. */
  let filtered = '';
  let chosen = '';

  const inputs = filters('nodes', { q: 'nodes-filter', show: 'nodes-show', policy: 'nodes-policy' }, show);
  const rows = virtualRows(scroller, table, (/** @type {NodeRow} */ row) =>
    rowOf(/** @type {NodeMap} */ (map), row, { chosen: row.name === chosen, filters: placeOf('nodes').filters }),
  );
  const overview = nodeMap(byId('nodes-map'), ({ name }) => {
    location.hash = hrefOf('nodes', name, placeOf('nodes').filters);
  });

  /** @param {NodeMap} found */
  function showChosen(found) {
    const { object, filters } = placeOf('nodes');
    const row = found.rows.find(({ name }) => name === object);
    const details = byId('node-details');
    const close = hrefOf('nodes', '', filters);
    const decisions = decisionsOn(object);
    details.hidden = object === '';
    if (object === '') return;
    fill(details, [object, row, close, decisions, row && found.columns, row && found.notes], () =>
      row ? detailsOf(found, row, { close, decisions }) : unknownDetails(object, close),
    );
  }

  function show() {
    if (!map) return;
    const found = map;
    const { object, filters } = placeOf('nodes');
    const isOther = chosen !== object;
    chosen = object;
    const filter = JSON.stringify(filters);
    if (filter !== filtered) scroller.scrollTop = 0;
    filtered = filter;
    const visible = rowsOf(found, filters);
    rows.show(visible);
    byId('nodes-count').textContent = [
      visible.length === found.rows.length
        ? counted(found.rows.length, 'node')
        : `${number(visible.length)} of ${counted(found.rows.length, 'node')}`,
      ...(found.unselected > 0 ? [`${number(found.unselected)} more that no policy selects`] : []),
      ...(found.columnsLeftOut > 0 ? [`${counted(found.columnsLeftOut, 'taint')} of policies left out`] : []),
    ].join(' · ');
    scroller.hidden = visible.length === 0;
    byId('nodes-none').hidden = visible.length > 0;
    showChosen(found);
    if (isOther && object !== '') byId('node-details').scrollIntoView({ block: 'nearest' });
  }

  return {
    /** @param {PageState} state */
    show(state) {
      map = state.nodes;
      absence('nodes', state, map !== undefined);
      if (!map) return;
      const { policy = '' } = placeOf('nodes').filters;
      // What was chosen stays so when others come and go.
      const names = [...new Set([...map.columns.map((column) => column.policy), ...(policy === '' ? [] : [policy])])];
      fill(byId('nodes-policy'), names, () => [
        h('option', { value: '' }, 'every policy'),
        ...names.map((name) => h('option', { value: name }, name)),
      ]);
      inputs();
      overview.show(map);
      show();
    },
  };
}
