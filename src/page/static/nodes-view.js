// @ts-check
/** @import { NodeMap, NodeRow, PageDecision, PageState } from '../state.ts' */

import { absence } from './absence.js';
import { addressOf } from './address.js';
import { byId, fill, h, putBefore } from './dom.js';
import { asker, showDetails } from './explanation.js';
import { filters } from './filters.js';
import { hrefOf } from './hrefs.js';
import { mark } from './marks.js';
import { headOf, rowOf } from './node-cells.js';
import { nodeMap } from './node-map.js';
import { rowsOf, STATES } from './node-rows.js';
import { virtualRows } from './virtual-rows.js';
import { counted, countedOf, number } from './words.js';

/** The states that have a sign. */
const LEGEND = /** @type {const} */ (['k', 'u', 'm', 'd', 'c', 'r']);

/**
 * The panel of nodes and protected taints.
 * @param {(kind: 'Node', name: string) => readonly PageDecision[]} decisionsOn the latest that are about it
 */
export function nodesView(decisionsOn) {
  const scroller = byId('nodes-scroller');
  const table = /** @type {HTMLTableElement} */ (byId('nodes-table'));
  table.append(h('thead', {}, h('tr', { 'aria-rowindex': '1' }, ...headOf())));
  byId('nodes-legend').append(
    ...LEGEND.map((cell) => h('li', { class: `is-${STATES[cell].name}` }, mark(cell), ` ${STATES[cell].word}`)),
  );
  /** @type {NodeMap | undefined} */
  let map;
  /** The filters of the rows in view. */
  let filtered = '';
  /** Of the state. */
  let version = '';

  const inputs = filters('nodes', { q: 'nodes-filter', show: 'nodes-show', policy: 'nodes-policy' }, show);
  const rows = virtualRows(scroller, table, (/** @type {NodeRow} */ row) =>
    rowOf(/** @type {NodeMap} */ (map), row, addressOf('nodes')),
  );
  const overview = nodeMap(byId('nodes-map'), ({ name }) => {
    location.hash = hrefOf('nodes', name, addressOf('nodes').filters);
  });

  const asked = asker(showChosen);

  function showChosen() {
    const { object, filters } = addressOf('nodes');
    const ready = map?.rows.find(({ name }) => name === object)?.ready;
    showDetails(byId('node-details'), asked.about(object && `node/${object}`, version), {
      kind: 'node',
      object,
      close: hrefOf('nodes', '', filters),
      tag: ready === undefined ? '' : ready ? 'ready' : 'not ready',
      decisions: decisionsOn('Node', object),
    });
  }

  function show() {
    if (!map) return;
    const found = map;
    const { filters } = addressOf('nodes');
    showChosen();
    const filter = JSON.stringify(filters);
    if (filter !== filtered) scroller.scrollTop = 0;
    filtered = filter;
    const visible = rowsOf(found, filters);
    rows.show(visible);
    byId('nodes-count').textContent = [
      countedOf(visible.length, found.rows.length, 'node'),
      ...(found.unselected > 0 ? [`${number(found.unselected)} more that no policy selects`] : []),
      ...(found.columnsLeftOut > 0 ? [`${counted(found.columnsLeftOut, 'taint')} of policies left out`] : []),
    ].join(' · ');
    scroller.hidden = visible.length === 0;
    byId('nodes-none').hidden = visible.length > 0;
  }

  return {
    /** @param {PageState} state */
    show(state) {
      map = state.nodes;
      version = state.at;
      absence('nodes', state, map !== undefined);
      // A replica that does not lead can still explain one node.
      putBefore(byId(map ? 'nodes-scroller' : 'nodes-absent'), byId('node-details'));
      if (!map) return showChosen();
      const { policy = '' } = addressOf('nodes').filters;
      // The chosen policy stays in the list although it has no column any more.
      const names = [...new Set([...map.columns.map((column) => column.policy), ...(policy === '' ? [] : [policy])])];
      fill(byId('nodes-policy'), names, () => [
        h('option', { value: '' }, 'every policy'),
        ...names.map((name) => h('option', { value: name }, name)),
      ]);
      inputs();
      overview.show(map);
      show();
    },
    /** Called after new decisions. */
    decided: showChosen,
  };
}
