// @ts-check
/** @import { PageDecision } from '../state.ts' */
import { addressOf } from './address.js';
import { articleOf, objectOf } from './decision-item.js';
import { trialOf } from './decision-words.js';
import { arrange, byId } from './dom.js';
import { mostOf } from './fair-list.js';
import { filters } from './filters.js';
import { counted, number } from './words.js';

/** How many decisions are kept: as many as the program keeps. */
const MAX_DECISIONS = 200;

/** Older decisions are not announced. */
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
  let isLinked = true;
  const announce = announcer(byId('announcements'));
  const inputs = filters('decisions', { q: 'decisions-filter', show: 'decisions-show' }, show);

  function show() {
    const { q = '', show: filter = '' } = addressOf('decisions').filters;
    const needle = q.trim().toLowerCase();
    const visible = decisions.filter(
      (decision) => isShown(decision, filter) && (needle === '' || wordsOf(decision).includes(needle)),
    );
    const elements = visible.map(elementFor);
    arrange(list, elements);
    // The date stands once, at the first decision of its day.
    let day = '';
    for (const element of elements) {
      element.classList.toggle('new-day', element.dataset.day !== day);
      day = element.dataset.day ?? '';
    }
    byId('decisions-count').textContent =
      visible.length === decisions.length
        ? `the latest ${counted(decisions.length, 'decision')}`
        : `${number(visible.length)} of the latest ${counted(decisions.length, 'decision')}`;
    byId('decisions-none').hidden = visible.length > 0;
    byId('decisions-none').textContent =
      decisions.length === 0
        ? 'There are no decisions yet. Requests that are denied, changed or reported appear here at once.'
        : 'No decision matches.';
  }

  /** @param {PageDecision} decision */
  function elementFor(decision) {
    const element = made.get(decision.id) ?? articleOf(decision, isLinked);
    made.set(decision.id, element);
    return element;
  }

  show();
  return {
    /** Shows the list by the filters of the address. */
    show() {
      inputs();
      show();
    },
    /**
     * @param {readonly PageDecision[]} received some of which may be known
     * @param {number | undefined} now by the program's clock. While it is not known, no decision is news
     */
    add(received, now) {
      const known = new Set(decisions.map(({ id }) => id));
      const added = received.filter(
        ({ id }, index) => !known.has(id) && received.findIndex((other) => other.id === id) === index,
      );
      if (added.length === 0) return;
      const news = now === undefined ? [] : added.filter(({ time }) => now - Date.parse(time) < NEWS_MS);
      decisions = mostOf([...decisions, ...added], MAX_DECISIONS).sort(
        (a, b) => b.time.localeCompare(a.time) || b.id.localeCompare(a.id),
      );
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
    /** @param {boolean} hasTabs whether there are tabs that show nodes and DaemonSets */
    link(hasTabs) {
      if (hasTabs === isLinked) return;
      isLinked = hasTabs;
      made.clear();
      show();
    },
    all: () => decisions,
    /**
     * Those about an object, the latest first.
     * @param {PageDecision['kind']} ofKind
     * @param {string} object `NAME` or `NAMESPACE/NAME`
     */
    about: (ofKind, object) =>
      decisions.filter(
        ({ kind, namespace, name }) => kind === ofKind && object === [namespace, name].filter(Boolean).join('/'),
      ),
  };
}

/**
 * @param {PageDecision} decision
 * @param {string} filter a result, or `trial`
 */
function isShown(decision, filter) {
  return filter === '' || decision.result === filter || (filter === 'trial' && trialOf(decision) !== undefined);
}

/** @param {PageDecision} decision @returns {string} the text that is searched */
function wordsOf(decision) {
  const { operation, user, origin, message = '', warnings, violations, replica } = decision;
  const violationTexts = violations.flatMap(({ policy, outcome, subject }) => [policy, outcome, subject]);
  return [objectOf(decision), operation, user, origin, message, replica, ...warnings, ...violationTexts]
    .join('\n')
    .toLowerCase();
}

/** The minimum time between two announcements by screen readers. */
const ANNOUNCE_EVERY_MS = 5_000;

/**
 * Announces new decisions, a few at a time.
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
    const what = `${latest.result}: ${latest.operation} ${objectOf(latest)}, by ${latest.user}`;
    region.textContent = waiting.length === 1 ? what : `${counted(waiting.length, 'new decision')}, among them ${what}`;
    waiting = [];
    timer = setTimeout(speak, ANNOUNCE_EVERY_MS);
  };
  return (news) => {
    waiting.push(...news);
    if (timer === undefined) speak();
  };
}
