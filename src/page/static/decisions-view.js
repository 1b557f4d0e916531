// @ts-check
/** @import { DecidedChange, PageDecision } from '../state.ts' */
import { diff } from './diff.js';
import { arrange, breakable, byId, drawn, h, spoken } from './dom.js';
import { field, picker } from './filter-fields.js';
import { counted, localTime, number } from './words.js';

/** Decisions that are kept: as many as the program itself keeps. */
const MAX_DECISIONS = 200;

/** Least time between two announcements to those who hear the page. */
const ANNOUNCE_EVERY_MS = 5_000;

/** What came when the page was opened is not news. */
const NEWS_MS = 10_000;

/** How long a new decision is marked. */
const MARKED_MS = 3_000;

/** The panel of the latest decisions. */
export function decisionsView() {
  const list = byId('decisions-list');
  /** @type {PageDecision[]} the latest first */
  let decisions = [];
  /** @type {Map<string, HTMLElement>} */
  const made = new Map();
  const announce = announcer(byId('announcements'));
  const text = field('decisions-filter', show);
  const verdict = picker('decisions-show', show);

  function show() {
    const needle = text().trim().toLowerCase();
    const wanted = verdict();
    const visible = decisions.filter(
      (decision) =>
        (wanted === '' || decision.verdict === wanted) && (needle === '' || wordsOf(decision).includes(needle)),
    );
    arrange(list, visible.map(elementFor));
    byId('decisions-count').textContent =
      visible.length === decisions.length
        ? `the latest ${counted(decisions.length, 'decision')}`
        : `${number(visible.length)} of the latest ${counted(decisions.length, 'decision')}`;
    byId('decisions-none').hidden = visible.length > 0;
    byId('decisions-none').textContent =
      decisions.length === 0
        ? 'Nothing has been decided yet. What is refused, changed or worth a word appears here at once.'
        : 'No decision is like that.';
  }

  /** @param {PageDecision} decision */
  function elementFor(decision) {
    const element = made.get(decision.id) ?? articleOf(decision);
    made.set(decision.id, element);
    return element;
  }

  show();
  return {
    /** @param {readonly PageDecision[]} found some of which may be known */
    add(found) {
      const known = new Set(decisions.map(({ id }) => id));
      const added = found.filter(
        ({ id }, index) => !known.has(id) && found.findIndex((other) => other.id === id) === index,
      );
      if (added.length === 0) return;
      const news = added.filter(({ time }) => Date.now() - Date.parse(time) < NEWS_MS);
      decisions = [...decisions, ...added]
        .sort((a, b) => b.time.localeCompare(a.time) || b.id.localeCompare(a.id))
        .slice(0, MAX_DECISIONS);
      const kept = new Set(decisions.map(({ id }) => id));
      for (const id of made.keys()) if (!kept.has(id)) made.delete(id);
      show();
      for (const { id } of news) {
        const element = made.get(id);
        element?.classList.add('new');
        setTimeout(() => element?.classList.remove('new'), MARKED_MS);
      }
      announce(news);
    },
    all: () => decisions,
  };
}

/**
 * Says what is new, without talking all the time.
 * @param {HTMLElement} region a polite live region
 * @returns {(news: readonly PageDecision[]) => void}
 */
function announcer(region) {
  /** @type {PageDecision[]} */
  let waiting = [];
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const speak = () => {
    timer = undefined;
    const [latest] = waiting;
    if (!latest) return;
    const what = `${latest.verdict}: ${latest.operation} ${objectOf(latest)}, by ${latest.user}`;
    region.textContent = waiting.length === 1 ? what : `${counted(waiting.length, 'new decision')}, among them ${what}`;
    waiting = [];
    timer = setTimeout(speak, ANNOUNCE_EVERY_MS);
  };
  return (news) => {
    waiting.push(...news);
    if (timer === undefined) speak();
  };
}

/** @param {PageDecision} decision */
function objectOf({ kind, namespace, name }) {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name || '(name to be generated)'}`;
}

/** @param {PageDecision} decision @returns {string} all that a filter looks at */
function wordsOf(decision) {
  const { operation, user, message = '', warnings, violations, replica } = decision;
  const found = violations.flatMap(({ policy, outcome, subject }) => [policy, outcome, subject]);
  return [objectOf(decision), operation, user, message, replica, ...warnings, ...found].join('\n').toLowerCase();
}

const SIGNS = { denied: '✕', patched: '+', allowed: '✓' };

/** @param {PageDecision} decision */
function articleOf(decision) {
  const {
    time,
    verdict,
    operation,
    user,
    dryRun,
    message,
    warnings,
    violations,
    violationsLeftOut,
    changes,
    changesLeftOut,
    replica,
  } = decision;
  const [day, clock = '', zone = ''] = localTime(time).split(' ');
  return h(
    'li',
    { class: `decision is-${verdict}` },
    h('time', { datetime: time, title: `${day} ${clock} ${zone}` }, clock, h('span', { class: 'quiet line' }, day)),
    h('span', { class: 'verdict' }, drawn(`${SIGNS[verdict]} `), verdict),
    h(
      'div',
      { class: 'what' },
      h(
        'p',
        { class: 'subject' },
        h('span', { class: 'quiet' }, `${operation} `),
        h('strong', { class: 'mono' }, ...breakable(objectOf(decision))),
        h('span', { class: 'quiet' }, ' by '),
        h('span', { class: 'mono' }, ...breakable(user || 'nobody named')),
        dryRun && h('span', { class: 'tag' }, 'dry run'),
      ),
      message !== undefined && h('p', {}, ...breakable(message)),
      ...warnings.map((warning) => h('p', {}, ...breakable(warning))),
      ...changes.map(changeOf),
      changesLeftOut && h('p', { class: 'quiet' }, 'The patch was too large to be kept.'),
      violations.length > 0 &&
        h(
          'ul',
          { class: 'violations' },
          ...violations.map(({ outcome, policyKind, policy, field: where, subject }) =>
            h(
              'li',
              {},
              h('span', { class: `outcome is-${outcome}` }, outcome),
              ' ',
              h('span', { class: 'mono' }, ...breakable(subject)),
              h('span', { class: 'quiet' }, ` · ${policyKind} ${policy}, ${where}`),
            ),
          ),
          violationsLeftOut > 0 && h('li', { class: 'quiet' }, `and ${number(violationsLeftOut)} more`),
        ),
      h('p', { class: 'quiet small' }, `answered by ${replica}`),
    ),
  );
}

const SIGN_WORDS = { '+': 'added: ', '-': 'removed: ', ' ': 'unchanged: ' };

/** @param {DecidedChange} change */
function changeOf(change) {
  const { path, lines } = diff(change);
  return h(
    'div',
    { class: 'diff' },
    h('p', { class: 'quiet mono' }, ...breakable(path)),
    h(
      'ul',
      {},
      ...lines.map(({ sign, text }) =>
        h(
          'li',
          { class: sign === '+' ? 'added' : sign === '-' ? 'removed' : 'same' },
          drawn(`${sign === '-' ? '−' : sign} `),
          spoken(SIGN_WORDS[sign]),
          ...breakable(text),
        ),
      ),
    ),
  );
}
