// @ts-check
/** @import { PageState } from '../state.ts' */
/** @import { Connection } from './live.js' */
/** @import { Tab } from './troubles.js' */
import { coverageView } from './coverage-view.js';
import { decisionsView } from './decisions-view.js';
import { byId, drawn, fill, h, SIGNS, spoken } from './dom.js';
import { gauges } from './gauges.js';
import { follow } from './live.js';
import { nodesView } from './nodes-view.js';
import { slashFocusesFilter } from './panel-parts.js';
import { policiesView } from './policies-view.js';
import { tabs } from './tabs.js';
import { troubles, verdict } from './troubles.js';
import { trustView } from './trust-view.js';
import { span } from './words.js';

/** Ages are shown by the second. */
const TICK_MS = 1_000;

const SPOKEN = { ok: '(fine)', attention: '(needs attention)', failed: '(wrong)', plain: '' };

/** @type {PageState | undefined} */
let state;
/** @type {Connection} */
let connection = { kind: 'connecting' };
/** How much further this clock is than the program's, in milliseconds. */
let clockAhead = 0;
/** @type {string} */
let selected = '';

const policies = policiesView();
const nodes = nodesView();
const coverage = coverageView();
const decisions = decisionsView();
const trust = trustView();
const bar = tabs(byId('tabs'), (name) => {
  selected = name;
  showPanel();
});

byId('troubles').addEventListener('click', ({ target }) => {
  const button = target instanceof Element ? target.closest('button') : undefined;
  if (button?.dataset.tab) bar.select(button.dataset.tab);
});
slashFocusesFilter();
follow({
  onState(found, answeredAt) {
    state = found;
    if (!Number.isNaN(answeredAt)) clockAhead = Date.now() - answeredAt;
    showAll();
  },
  onDecisions(found) {
    decisions.add(found, state ? now() : undefined);
    showGauges();
  },
  onConnection(found) {
    connection = found;
    showConnection();
  },
});
setInterval(() => {
  showGauges();
  showVerdict();
  showConnection();
}, TICK_MS);

/** The time by the program's clock, which is that of everything it tells. */
function now() {
  return Date.now() - clockAhead;
}

function showAll() {
  showIdentity();
  showVerdict();
  showGauges();
  showPanel();
}

/** Only what is in view is worth the work. */
function showPanel() {
  if (!state) return;
  switch (selected) {
    case 'policies':
      return policies.show(state);
    case 'nodes':
      return nodes.show(state);
    case 'coverage':
      return coverage.show(state);
    case 'trust':
      return trust.show(state, now());
    default:
      return undefined;
  }
}

function showIdentity() {
  if (!state) return;
  const { version, replica, mode, leader, audit } = state;
  const role =
    mode === 'standalone'
      ? 'standalone, policies from files'
      : leader.isThis
        ? 'leads'
        : leader.name === undefined
          ? 'no leader'
          : `${leader.name} leads`;
  fill(byId('identity'), [version, replica, role, audit], () => [
    h('span', { class: 'mono' }, replica),
    h('span', {}, role),
    h('span', {}, `version ${version}`),
    audit && h('span', { class: 'tag loud' }, 'audit: nothing is refused or changed'),
  ]);
}

function showVerdict() {
  if (!state) return;
  const found = troubles(state, now());
  const level = found[0]?.level ?? 'ok';
  byId('verdict').className = `verdict-strip is-${level}`;
  const words = verdict(found, state);
  fill(byId('verdict-words'), [level, words], () => [drawn(`${SIGNS[level]} `), words]);
  fill(byId('troubles'), found, () =>
    found.map(({ level, text, tab }, index) =>
      h(
        'li',
        { class: `is-${level}` },
        drawn(`${SIGNS[level]} `),
        h('button', { type: 'button', class: 'plain', id: `trouble-${index}`, 'data-tab': tab }, text),
      ),
    ),
  );
  document.title = `${found.length > 0 ? `(${found.length}) ` : ''}taintkeeper`;
}

function showGauges() {
  if (!state) return;
  const all = gauges(state, decisions.all(), now());
  for (const tab of /** @type {Tab[]} */ (Object.keys(all))) {
    const { figure, note, level } = all[tab];
    fill(byId(`gauge-${tab}`), all[tab], () => [
      h('span', { class: 'figure' }, figure),
      h(
        'span',
        { class: `note is-${level}` },
        level !== 'plain' && drawn(`${SIGNS[level]} `),
        note,
        spoken(SPOKEN[level]),
      ),
    ]);
  }
}

function showConnection() {
  const lost = connection.kind === 'lost';
  document.documentElement.classList.toggle('lost', lost);
  byId('lost').hidden = !lost;
  fill(byId('connection'), connection.kind, () => [
    drawn(connection.kind === 'live' ? '● ' : '○ '),
    connection.kind === 'live' ? 'live' : lost ? 'connection lost' : 'connecting',
  ]);
  byId('connection').className = `is-${connection.kind}`;
  if (connection.kind === 'lost') {
    const since = span(Date.now() - connection.since);
    byId('lost-since').textContent = since === undefined ? '' : ` ${since} ago`;
  }
}
