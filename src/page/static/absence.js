// @ts-check
/** @import { PageState } from '../state.ts' */
import { byId, fill, h } from './dom.js';

/**
 * Shows a panel's contents, or why there are none: nodes and DaemonSets are known to the leader of a cluster alone.
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
  const { mode, leader } = state;
  fill(notice, [mode, leader], () => {
    if (mode === 'standalone') {
      return [
        h('h3', {}, 'No cluster'),
        h(
          'p',
          {},
          'This taintkeeper takes its policies from files and judges what it is sent. It knows no nodes and no DaemonSets.',
        ),
      ];
    }
    if (leader.isThis)
      return [
        h('h3', {}, 'One moment'),
        h('p', {}, 'This replica has just become the leader, and is reading nodes and DaemonSets.'),
      ];
    if (leader.name === undefined) {
      return [
        h('h3', {}, 'Nobody leads'),
        h(
          'p',
          {},
          'Nodes and DaemonSets are known to the leader, and there is none at the moment. A new one is elected within seconds.',
        ),
      ];
    }
    return [
      h('h3', {}, 'Another replica leads'),
      h(
        'p',
        {},
        'Nodes and DaemonSets are known to the leader alone: ',
        h('span', { class: 'mono' }, leader.name),
        '.',
      ),
      h('p', {}, 'To see its page: ', h('code', {}, 'taintkeeper dashboard'), ', which always goes to the leader.'),
    ];
  });
}
