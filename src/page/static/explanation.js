// @ts-check
/** @import { ShownCell, ShownExplanation, ShownSection } from '../explanations.ts' */
/** @import { PageDecision } from '../state.ts' */
import { breakable, byId, fill, h, signed } from './dom.js';
import { fixLine } from './fix-line.js';
import { hrefOf } from './hrefs.js';
import { mark } from './marks.js';
import { nodeLinks } from './node-links.js';
import { cellOfWord, STATES } from './node-rows.js';
import { localTime, number } from './words.js';

/**
 * An explanation, or why there is none. Both are absent at first.
 * @typedef {{ readonly explanation?: ShownExplanation; readonly fault?: string }} Answer
 */

const ANSWER_WITHIN_MS = 10_000;
/** The minimum time between two requests for one object: a large cluster changes all the time. */
const PAUSE_MS = 2_000;

/**
 * Requests the explanation of the chosen object, and again when the state has changed.
 * @param {() => void} onNews there is another answer
 */
export function asker(onNews) {
  let path = '';
  /** @type {unknown} of the state that was asked about last */
  let version;
  /** @type {Answer} */
  let answer = {};
  /** @type {ReturnType<typeof setTimeout> | undefined} while it runs, nothing is asked about the same */
  let pausing;
  let isStale = false;

  function ask() {
    isStale = false;
    const asked = path;
    pausing = setTimeout(() => {
      pausing = undefined;
      if (isStale && path !== '') ask();
    }, PAUSE_MS);
    void answerTo(asked).then((found) => {
      if (asked !== path) return;
      // An earlier explanation is kept when a new request fails.
      answer = found.explanation ? found : { ...answer, ...found };
      onNews();
    });
  }

  return {
    /**
     * @param {string} subject `node/NAME`, `daemonset/NAMESPACE/NAME`, or nothing
     * @param {unknown} state another one when it is to be asked again
     * @returns {Answer}
     */
    about(subject, state) {
      if (subject !== path) {
        clearTimeout(pausing);
        path = subject;
        answer = {};
        version = state;
        if (path !== '') ask();
      } else if (state !== version) {
        version = state;
        isStale = true;
        if (pausing === undefined && path !== '') ask();
      }
      return answer;
    },
  };
}

/** @param {string} path @returns {Promise<Answer>} */
async function answerTo(path) {
  try {
    const address = `api/explain/${path.split('/').map(encodeURIComponent).join('/')}`;
    const answer = await fetch(address, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    return answer.ok ? { explanation: await answer.json() } : { fault: await answer.text() };
  } catch {
    return { fault: 'The explanation could not be loaded.' };
  }
}

/**
 * The chosen object.
 * @typedef {object} Details
 * @property {'node' | 'daemonset'} kind
 * @property {string} object empty for none
 * @property {string} close the address without it
 * @property {string} tag one word of its state; may be empty
 * @property {string} [summary]
 * @property {readonly PageDecision[]} decisions about it, the latest first
 */

/**
 * Shows the explanation of the chosen object, and the latest decisions about it. Scrolls there when another one is chosen.
 *
 * @param {HTMLElement} target
 * @param {Answer} answer
 * @param {Details} details
 */
export function showDetails(target, { explanation, fault }, { kind, object, close, tag, summary, decisions }) {
  const isOther = target.dataset.object !== object;
  target.dataset.object = object;
  target.hidden = object === '';
  if (object === '') return;
  const { at = '', ...known } = explanation ?? { sections: [], next: {} };
  const { id } = target;
  const command = `taintkeeper explain ${kind} ${object}`;
  // If only the time changed, nothing is redrawn.
  const source = [known, explanation ? '' : fault, decisions.map(({ id }) => id), kind, object, close, tag, summary];
  fill(target, source, () => [
    h('h3', { class: 'mono' }, object, tag !== '' && h('span', { class: 'tag' }, tag)),
    h('a', { href: close, class: 'close', id: `${id}-close` }, 'Close'),
    summary !== undefined && h('p', {}, summary),
    explanation ? nextOf(known.next, id) : h('p', { class: 'quiet' }, fault ?? 'Asking why…'),
    ...known.sections.map(sectionOf),
    ...decisionsAbout(object, kind, decisions),
    explanation && h('p', { class: 'quiet small', id: `${id}-at` }),
    // The characters of names of Kubernetes: an address may have others, and a command must not.
    /^[\w./-]+$/.test(object) && fixLine({ command, note: 'says it in a terminal, with your rights' }, `${id}-explain`),
  ]);
  if (explanation) {
    const [day = '', clock = '', zone = ''] = localTime(at).split(' ');
    byId(`${id}-at`).textContent = `As of ${day} ${clock} ${zone}${fault === undefined ? '' : ` · ${fault}`}`;
  }
  if (isOther) target.scrollIntoView({ block: 'nearest' });
}

/**
 * @param {ShownExplanation['next']} next
 * @param {string} id
 */
function nextOf({ command, note = '' }, id) {
  if (command === undefined) return h('p', {}, h('strong', {}, 'Next: '), note);
  return h('div', { class: 'next' }, h('strong', {}, 'Next:'), fixLine({ command, note }, `${id}-next`));
}

/** @param {ShownSection} section */
function sectionOf(section) {
  if ('lines' in section) {
    const { lines, linesLeftOut } = section;
    return h(
      'ul',
      {},
      ...lines.map((line) => h('li', {}, ...breakable(line))),
      linesLeftOut > 0 && h('li', { class: 'quiet' }, `and ${number(linesLeftOut)} more`),
    );
  }
  const { head, rows, rowsLeftOut } = section;
  return h(
    'table',
    { class: 'list explained' },
    h('thead', {}, h('tr', {}, ...head.map((title) => h('th', { scope: 'col' }, title)))),
    h('tbody', {}, ...rows.map((row) => h('tr', {}, ...row.map(cellOf)))),
    rowsLeftOut > 0 && h('caption', {}, `and ${number(rowsLeftOut)} more`),
  );
}

/**
 * @param {ShownCell} cell
 * @param {number} column
 */
function cellOf(cell, column) {
  if (typeof cell === 'string') return h('td', column === 0 ? { class: 'mono' } : {}, ...breakable(cell));
  if ('level' in cell) return h('td', {}, ...stateOf(cell));
  return h('td', { class: 'mono' }, ...('nodes' in cell ? nodesOf(cell) : policyOf(cell)));
}

/** @param {{ readonly text: string; readonly level: import('../../explain/display.ts').Level }} cell */
function stateOf({ text, level }) {
  // A taint's state has the sign that the map has for it.
  const cell = cellOfWord(text);
  if (cell !== undefined) return [h('span', { class: `is-${STATES[cell].name}` }, mark(cell), ' ', text)];
  return [level === 'quiet' ? text : signed(level, text)];
}

/** @param {{ readonly text: string; readonly policy: string }} cell */
const policyOf = ({ text, policy }) => [h('a', { href: hrefOf('policies', policy) }, text)];

/** @param {{ readonly nodes: readonly string[]; readonly more: number }} cell */
function nodesOf({ nodes, more }) {
  return [...nodeLinks(nodes), more > 0 && ` and ${number(more)} more`];
}

const MAX_SHOWN = 3;

/**
 * @param {string} object
 * @param {'node' | 'daemonset'} kind
 * @param {readonly PageDecision[]} decisions the latest first
 */
function decisionsAbout(object, kind, decisions) {
  const shown = decisions.slice(0, MAX_SHOWN);
  if (shown.length === 0) return [h('p', { class: 'quiet' }, 'None of the latest decisions is about it.')];
  const all = hrefOf('decisions', '', { q: `${kind === 'node' ? 'Node' : 'DaemonSet'} ${object}` });
  const rows = shown.map(({ time, result, user, violations, message = '' }) => {
    const said = violations.map(({ policy, outcome, subject }) => `${outcome} ${subject} (${policy})`);
    const [day = '', clock = ''] = localTime(time).split(' ');
    return [`${day} ${clock}`, result, user, said.join('; ') || message];
  });
  return [
    sectionOf({ head: ['Decided', 'Result', 'For', 'What'], rows, rowsLeftOut: 0 }),
    h('p', {}, h('a', { href: all }, `Latest decisions about it: ${number(decisions.length)}`)),
  ];
}
