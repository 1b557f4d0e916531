// @ts-check
/** @import { PageState } from '../state.ts' */
import { byId, fill, h } from './dom.js';
import { fixLine } from './fix-line.js';

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
