// @ts-check
/** @import { PageDecision } from '../state.ts' */
import { placeOf } from './address.js';
import { articleOf, objectOf } from './decision-item.js';
import { arrange, byId } from './dom.js';
import { mostOf } from './fair-list.js';
import { filters } from './panel-parts.js';
import { counted, number, outcomeWords, trialOf } from './words.js';

/** Decisions that are kept: as many as the program itself keeps. */
const MAX_DECISIONS = 200;

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
  const inputs = filters('decisions', { q: 'decisions-filter', show: 'decisions-show' }, show);

  function show() {
    const { q = '', show: wanted = '' } = placeOf('decisions').filters;
    const needle = q.trim().toLowerCase();
    const visible = decisions.filter(
      (decision) => isWanted(decision, wanted) && (needle === '' || wordsOf(decision).includes(needle)),
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
    /** Brings the list in line with the address. */
    show() {
      inputs();
      show();
    },
    /**
     * @param {readonly PageDecision[]} found some of which may be known
     * @param {number | undefined} now by the clock of those who decided; while it is not known, nothing is news
     */
    add(found, now) {
      const known = new Set(decisions.map(({ id }) => id));
      const added = found.filter(
        ({ id }, index) => !known.has(id) && found.findIndex((other) => other.id === id) === index,
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
    all: () => decisions,
    /**
     * Those about an object, the latest first.
     * @param {PageDecision['kind']} wanted
     * @param {string} object `NAME` or `NAMESPACE/NAME`
     */
    about: (wanted, object) =>
      decisions.filter(
        ({ kind, namespace, name }) => kind === wanted && object === [namespace, name].filter(Boolean).join('/'),
      ),
  };
}

/**
 * @param {PageDecision} decision
 * @param {string} wanted a result, or `trial`
 */
function isWanted(decision, wanted) {
  return wanted === '' || decision.result === wanted || (wanted === 'trial' && trialOf(decision) !== undefined);
}

/** @param {PageDecision} decision @returns {string} all that a filter looks at */
function wordsOf(decision) {
  const { operation, user, origin, message = '', warnings, violations, replica } = decision;
  const found = violations.flatMap(({ policy, outcome, subject }) => [policy, outcome, outcomeWords(outcome), subject]);
  return [objectOf(decision), operation, user, origin, message, replica, ...warnings, ...found]
    .join('\n')
    .toLowerCase();
}

/** Least time between two announcements to those who hear the page. */
const ANNOUNCE_EVERY_MS = 5_000;

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
