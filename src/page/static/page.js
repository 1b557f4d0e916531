// @ts-check
/** @import { PageState } from '../state.ts' */
/** @import { Connection } from './live.js' */
/** @import { Tab, Problem } from './problems.js' */
import { tabs } from './address.js';
import { coverageView } from './coverage-view.js';
import { decisionsView } from './decisions-view.js';
import { byId, drawn, fill, h, SIGNS, spoken } from './dom.js';
import { gauges } from './gauges.js';
import { follow } from './live.js';
import { nodesView } from './nodes-view.js';
import { copyButtons, fixLine, slashFocusesFilter } from './panel-parts.js';
import { policiesView } from './policies-view.js';
import { headline, problems } from './problems.js';
import { trustLine } from './trust-line.js';
import { number, span } from './words.js';

/** Ages are shown by the second. */
const TICK_MS = 1_000;

/** As in base.css: `.many` and `.very-many` fold the other problems. */
const MAX_ON_PHONE = 2;
const MAX_AT_ONCE = 5;

const SPOKEN = { ok: '(fine)', attention: '(needs attention)', failed: '(wrong)', plain: '' };

/** @type {PageState | undefined} */
let state;
/** @type {Connection} */
let connection = { kind: 'connecting' };
/** How far this clock is ahead of the program's, in milliseconds. */
let clockAhead = 0;
/** @type {string} */
let selected = '';

const policies = policiesView();
const nodes = nodesView((kind, name) => decisions.about(kind, name));
const coverage = coverageView((kind, name) => decisions.about(kind, name));
const decisions = decisionsView();
tabs(byId('tabs'), (name) => {
  selected = name;
  showPanel();
});

copyButtons();
byId('problems-all').addEventListener('click', () => {
  const list = byId('problems');
  const folded = [...list.children].find((item) => item instanceof HTMLElement && item.offsetParent === null);
  list.classList.add('all');
  // The button disappears, so the focus moves to the first unfolded problem.
  const next = folded?.querySelector('a, button');
  if (next instanceof HTMLElement) next.focus();
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
  showTrust();
  showGauges();
  showSummary();
  showConnection();
}, TICK_MS);

/** The time by the program's clock, which is that of all times in the state. */
function now() {
  return Date.now() - clockAhead;
}

function showAll() {
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
    audit && h('span', { class: 'tag loud' }, 'audit: policies only report'),
  ]);
}

function showTrust() {
  if (!state) return;
  const { text, level } = trustLine(state, now());
  fill(byId('trust'), [text, level], () => [
    drawn(`${SIGNS[level]} `),
    h('span', { class: `is-${level}` }, text),
    spoken(SPOKEN[level]),
  ]);
}

function showSummary() {
  if (!state) return;
  const found = problems(state, now());
  const level = found[0]?.level ?? 'ok';
  byId('summary').className = `summary-strip is-${level}`;
  const words = headline(found, state);
  fill(byId('summary-words'), [level, words], () => [drawn(`${SIGNS[level]} `), words]);
  fill(byId('problems'), found, () => found.map(problemOf));
  const all = byId('problems-all');
  all.textContent = `Show all ${found.length}`;
  byId('problems').classList.toggle('many', found.length > MAX_ON_PHONE);
  byId('problems').classList.toggle('very-many', found.length > MAX_AT_ONCE);
  document.title = `${found.length > 0 ? `(${found.length}) ` : ''}taintkeeper`;
}

/**
 * @param {Problem} problem
 * @param {number} index
 */
function problemOf({ level, text, href, names = [], more = 0, why, fix }, index) {
  const id = `problem-${index}`;
  return h(
    'li',
    { class: `is-${level}` },
    drawn(`${SIGNS[level]} `),
    h(
      'div',
      {},
      h(
        'p',
        {},
        href === undefined ? h('span', { id }, text) : h('a', { href, id }, text),
        names.length > 0 && ': ',
        ...names.flatMap((name, at) => [
          at > 0 && ', ',
          name.href === undefined
            ? h('span', { class: 'mono' }, name.text)
            : h('a', { href: name.href, class: 'mono', id: `${id}-${at}` }, name.text),
        ]),
        more > 0 && ` and ${number(more)} more`,
        why !== undefined && h('span', { class: 'quiet' }, ` · ${why}`),
      ),
      fix && fixLine(fix, id),
    ),
  );
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
    connection.kind === 'live' ? 'live' : lost ? 'connection lost' : 'connecting',
  ]);
  byId('connection').className = `is-${connection.kind}`;
  if (connection.kind === 'lost') {
    const since = span(Date.now() - connection.since);
    byId('lost-since').textContent = since === undefined ? '' : ` ${since} ago`;
  }
}
