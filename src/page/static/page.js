// @ts-check
/** @import { PageState } from '../state.ts' */
/** @import { Connection } from './live.js' */
/** @import { Tab } from './problems.js' */

import { coverageView } from './coverage-view.js';
import { decisionsView } from './decisions-view.js';
import { byId, drawn, fill, h, SIGNS, spoken } from './dom.js';
import { slashFocusesFilter } from './filters.js';
import { copyButtons } from './fix-line.js';
import { gauges } from './gauges.js';
import { hrefOf } from './hrefs.js';
import { follow } from './live.js';
import { nodesView } from './nodes-view.js';
import { overviewView } from './overview-view.js';
import { policiesView } from './policies-view.js';
import { headline, lasting, levelOf } from './problems.js';
import { tabs } from './tabs.js';
import { trustLine } from './trust-line.js';
import { span } from './words.js';

/** Ages are shown by the second. */
const TICK_MS = 1_000;

/** @type {Readonly<Record<Connection['kind'], string>>} */
const CONNECTION_WORDS = {
  connecting: 'connecting',
  live: 'live',
  lost: 'connection lost',
  unreadable: 'this page cannot show the current state: reload it',
};

const SPOKEN = { ok: '(fine)', attention: '(needs attention)', failed: '(wrong)', plain: '' };

/** @type {PageState | undefined} */
let state;
/** @type {Connection} */
let connection = { kind: 'connecting' };
/** How far this clock is ahead of that of the state, in milliseconds. */
let clockAhead = 0;
/** @type {string} */
let selected = '';

const overview = overviewView();
const policies = policiesView();
const decisions = decisionsView();
const nodes = nodesView((kind, name) => decisions.about(kind, name));
const coverage = coverageView((kind, name) => decisions.about(kind, name));
tabs(byId('tabs'), (name) => {
  selected = name;
  showSummary();
  showPanel();
});

copyButtons();
slashFocusesFilter();
follow({
  build: document.querySelector('meta[name=build]')?.getAttribute('content') ?? '',
  onState(found, answeredAt) {
    state = found;
    if (!Number.isNaN(answeredAt)) clockAhead = Date.now() - answeredAt;
    showAll();
  },
  onDecisions(found) {
    decisions.add(found, state ? now() : undefined);
    if (selected === 'nodes') nodes.decided();
    if (selected === 'coverage') coverage.decided();
    showGauges();
  },
  onConnection(found) {
    connection = found;
    showConnection();
  },
});
setInterval(() => {
  showGauges();
  if (selected === 'overview') showPanel();
  showConnection();
}, TICK_MS);

/** The time by the clock of all times in the state: that of the API server, or without a cluster, that of the program. */
function now() {
  return Date.now() - clockAhead;
}

function showAll() {
  // Without a cluster, there are no nodes and no DaemonSets.
  for (const tab of ['nodes', 'coverage']) byId(`tab-${tab}`).hidden = state?.mode === 'standalone';
  document.documentElement.classList.toggle('standalone', state?.mode === 'standalone');
  decisions.link(state?.mode !== 'standalone');
  showIdentity();
  showTrust();
  showSummary();
  showGauges();
  showPanel();
}

/** Updates only the panel in view. */
function showPanel() {
  if (selected === 'decisions') decisions.show();
  if (!state) return;
  switch (selected) {
    case 'overview':
      return overview.show(state, now());
    case 'policies':
      return policies.show(state);
    case 'nodes':
      return nodes.show(state);
    case 'coverage':
      return coverage.show(state);
    default:
      return undefined;
  }
}

function showIdentity() {
  if (!state) return;
  const { version, replica, mode, leader, audit } = state;
  const leads =
    mode === 'standalone'
      ? 'standalone, policies from files'
      : leader.name === undefined && !leader.isThis
        ? 'no leader'
        : `leader ${leader.name ?? replica}`;
  fill(byId('identity'), [version, replica, leads, audit], () => [
    h('span', {}, leads),
    !leader.isThis && h('span', {}, `this is ${replica}`),
    h('span', {}, `version ${version}`),
    h('span', { class: 'tag' }, 'read-only'),
    audit && h('span', { class: 'tag loud' }, '--audit: policies only report'),
  ]);
}

function showTrust() {
  if (!state) return;
  const { text, level } = trustLine(state);
  fill(byId('trust'), [text, level], () => [
    h('span', { class: `is-${level}` }, drawn(`${SIGNS[level]} `), text),
    spoken(SPOKEN[level]),
  ]);
}

/** On the other tabs, the summary is one line with the worst problem, which leads to the overview. */
function showSummary() {
  if (!state) return;
  const found = lasting(state.problems);
  const level = levelOf(state.problems);
  const isFolded = selected !== 'overview';
  byId('summary').className = `summary-strip is-${level}${isFolded ? ' folded' : ''}`;
  const words = headline(state);
  fill(byId('summary-words'), [level, words], () => [drawn(`${SIGNS[level]} `), words]);
  const [worst] = found;
  fill(byId('summary-worst'), [isFolded, worst?.text], () =>
    isFolded && worst ? [h('a', { href: hrefOf('overview'), id: 'summary-link' }, worst.text)] : [],
  );
  document.title = `${found.length > 0 ? `(${found.length}) ` : ''}taintkeeper`;
}

function showGauges() {
  if (!state) return;
  const all = gauges(state, decisions.all(), now());
  for (const tab of /** @type {Tab[]} */ (Object.keys(all))) {
    const { figure, unit, note, level } = all[tab];
    fill(byId(`gauge-${tab}`), all[tab], () => [
      h('span', { class: 'figure' }, figure, h('span', { class: 'unit' }, ` ${unit}`)),
      h(
        'span',
        { class: `note is-${level}` },
        level !== 'plain' && drawn(`${SIGNS[level]} `),
        h('span', { class: 'words' }, note),
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
    CONNECTION_WORDS[connection.kind],
  ]);
  byId('connection').className = `is-${connection.kind}`;
  if (connection.kind === 'lost') {
    const since = span(Date.now() - connection.since);
    byId('lost-since').textContent = since === undefined ? '' : ` ${since} ago`;
  }
}
