// @ts-check
/** @import { NodeMap, PageProblem, PageState } from '../state.ts' */
import { byId, drawn, fill, h, SIGNS } from './dom.js';
import { fixLine } from './fix-line.js';
import { hrefAt } from './hrefs.js';
import { nodeLinks } from './node-links.js';
import { lasting } from './problems.js';
import { ago, counted, number } from './words.js';

/** The others are shown on request. */
const MAX_AT_ONCE = 8;
const MAX_WAITING = 10;

/** The README's command: what an API server would send. */
const TRY = `curl --silent --cacert certs/ca.crt https://localhost:8443/validate \\
    --header 'content-type: application/json' --data @examples/remove-control-plane-taint.json`;

/** The panel of all problems, with what to do about each. */
export function overviewView() {
  const list = byId('problems');
  const all = byId('problems-all');
  all.addEventListener('click', () => {
    const folded = [...list.children].find((item) => item instanceof HTMLElement && item.offsetParent === null);
    list.classList.add('all');
    // The button disappears, so the focus moves to the first unfolded problem.
    const next = folded?.querySelector('a, button');
    if (next instanceof HTMLElement) next.focus();
  });

  return {
    /**
     * @param {PageState} state
     * @param {number} now
     */
    show({ mode, leader, problems, nodes }, now) {
      const found = lasting(problems);
      fill(list, found, () => found.map(problemOf));
      all.textContent = `Show all ${found.length}`;
      list.classList.toggle('many', found.length > MAX_AT_ONCE);
      byId('problems-none').hidden = found.length > 0;
      byId('problems-none').textContent = noneText(mode, problems.length > 0);
      fill(byId('leader-notice'), [mode, leader], () => leaderNotice(mode, leader));
      const repairing = problems.filter(({ level }) => level === 'repairing');
      fill(byId('repairing'), repairing, () => repairing.map(repairingOf));
      const waiting = nodes?.waiting.map(({ since, ...one }) => [one, sinceText(since, now)]) ?? [];
      fill(byId('waiting'), [waiting, nodes?.waitingLeftOut], () => waitingOf(nodes, now));
      fill(byId('try'), mode, () => (mode === 'standalone' ? tryIt() : []));
    },
  };
}

/**
 * @param {PageState['mode']} mode
 * @param {boolean} isRepairing
 */
function noneText(mode, isRepairing) {
  if (mode === 'standalone') return 'The tab Decisions shows requests as they are judged.';
  return isRepairing
    ? 'Nothing to do: what is missing is being repaired.'
    : 'Nothing to do: no required taint and no required toleration is missing.';
}

/**
 * @param {PageProblem} problem
 * @param {number} index
 */
function problemOf({ level, text, place, names, more, why, fix }, index) {
  const id = `problem-${index}`;
  return h(
    'li',
    { class: `is-${level}${index < MAX_AT_ONCE ? '' : ' further'}` },
    drawn(`${level === 'repairing' ? '↻' : SIGNS[level]} `),
    h(
      'div',
      {},
      h(
        'p',
        {},
        place === undefined ? h('span', { id }, text) : h('a', { href: hrefAt(place), id }, text),
        ...namesOf(names, more, id),
        why !== undefined && h('span', { class: 'quiet' }, ` · ${why}`),
      ),
      fix && fixLine(fix, id),
    ),
  );
}

/**
 * @param {PageProblem['names']} names
 * @param {number} more
 * @param {string} id
 */
function namesOf(names, more, id) {
  if (names.length === 0) return [];
  return [
    ': ',
    ...names.flatMap(({ text, place }, at) => [
      at > 0 && ', ',
      place === undefined
        ? h('span', { class: 'mono' }, text)
        : h('a', { href: hrefAt(place), class: 'mono', id: `${id}-${at}` }, text),
    ]),
    more > 0 && ` and ${number(more)} more`,
  ];
}

/**
 * @param {PageProblem} problem
 * @param {number} index
 */
function repairingOf({ text, place, names, more }, index) {
  const id = `repairing-${index}`;
  return h(
    'details',
    {},
    h('summary', { id }, drawn('↻ '), text),
    h(
      'p',
      {},
      ...namesOf(names, more, id).slice(1),
      place !== undefined && h('span', {}, ' · ', h('a', { href: hrefAt(place), id: `${id}-all` }, 'show')),
    ),
  );
}

/** @param {string | undefined} since @param {number} now */
const sinceText = (since, now) => (since === undefined ? 'not Ready yet' : `Ready ${ago(now - Date.parse(since))}`);

/**
 * @param {NodeMap | undefined} nodes
 * @param {number} now
 */
function waitingOf(nodes, now) {
  if (nodes === undefined || nodes.waiting.length === 0) return [];
  const { waiting, waitingLeftOut } = nodes;
  const shown = waiting.slice(0, MAX_WAITING);
  const all = waiting.length + waitingLeftOut;
  return [
    h('h3', {}, `${counted(all, 'node')} with a startup taint`),
    h(
      'table',
      { class: 'list explained' },
      h('thead', {}, h('tr', {}, ...['Node', 'Since', 'Waits for'].map((title) => h('th', { scope: 'col' }, title)))),
      h(
        'tbody',
        {},
        ...shown.map(({ name, what, since }) =>
          h(
            'tr',
            {},
            h('td', { class: 'mono' }, ...nodeLinks([name])),
            h('td', {}, sinceText(since, now)),
            h('td', {}, what),
          ),
        ),
      ),
      all > shown.length && h('caption', {}, `and ${number(all - shown.length)} more`),
    ),
  ];
}

/**
 * @param {PageState['mode']} mode
 * @param {PageState['leader']} leader
 */
function leaderNotice(mode, leader) {
  if (mode === 'standalone' || leader.isThis || leader.name === undefined) return [];
  return [
    h(
      'p',
      {},
      'This replica does not lead. The page of ',
      h('span', { class: 'mono' }, leader.name),
      ' has all nodes.',
    ),
    fixLine({ command: 'taintkeeper dashboard', note: 'Shows the page of the leader.' }, 'leader-notice'),
  ];
}

function tryIt() {
  return [
    h('h3', {}, 'Try it'),
    h('p', {}, 'In a second terminal, in the folder of taintkeeper. It sends what an API server sends:'),
    fixLine({ command: TRY, note: 'The answer is a denial, which the tab Decisions shows.' }, 'try-it'),
  ];
}
