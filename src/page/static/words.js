// @ts-check
/** @import { CoverageAnswer, NodeGroup, PageDecision } from '../state.ts' */

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/**
 * `1 node`, `5,000 nodes`.
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export function counted(count, one, many = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/**
 * How many of all are shown: `5 nodes`, `2 of 5 nodes`.
 * @param {number} shown
 * @param {number} all
 * @param {string} one
 * @param {string} [many]
 */
export function countedOf(shown, all, one, many) {
  return shown === all ? counted(all, one, many) : `${number(shown)} of ${counted(all, one, many)}`;
}

/** @param {number} value */
export const number = (value) => value.toLocaleString('en');

/**
 * How long ago, in the one unit that says it: `now`, `12 s ago`, `3 min ago`, `5 h ago`, `2 days ago`.
 * @param {number} ms
 */
export function ago(ms) {
  const passed = span(ms);
  return passed === undefined ? 'now' : `${passed} ago`;
}

/**
 * A length of time in one unit, rounded down; undefined below a second.
 * @param {number} ms
 */
export function span(ms) {
  if (ms < SECOND_MS) return undefined;
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`;
  if (ms < 2 * DAY_MS) return `${Math.floor(ms / HOUR_MS)} h`;
  return counted(Math.floor(ms / DAY_MS), 'day');
}

/** @type {Intl.DateTimeFormatOptions} */
const FORMAT = {
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZoneName: 'short',
};

/**
 * An instant as an operator reads it: local, to the second, with the zone.
 * @param {string} iso
 */
export function localTime(iso) {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? iso : time.toLocaleString('sv', FORMAT);
}

/** @type {Record<CoverageAnswer['kind'] | 'passing', { sign: string; word: string }>} */
export const ANSWERS = {
  runs: { sign: '●', word: 'runs' },
  tainted: { sign: '✕', word: 'kept off by taints' },
  stays: { sign: '◐', word: 'kept off, but a pod that is there stays' },
  passing: { sign: '◌', word: 'kept off for the moment' },
  elsewhere: { sign: '·', word: 'meant for other nodes' },
};

/** @param {CoverageAnswer} answer */
export const answerName = ({ kind, passing }) => (passing ? 'passing' : kind);

/**
 * A short and unique name for each group: that of its only node, or what its nodes have in common.
 * @param {readonly NodeGroup[]} groups
 * @returns {string[]}
 */
export function groupNames(groups) {
  /** @type {Map<string, number>} */
  const taken = new Map();
  return groups.map(({ label, count, examples }) => {
    const traits = label.split(', ').map((word) => word.slice(word.indexOf('=') + 1) || word.slice(0, -1));
    const name = (count === 1 && examples[0]) || traits.join(' ') || 'others';
    const times = (taken.get(name) ?? 0) + 1;
    taken.set(name, times);
    return times === 1 ? name : `${name} #${times}`;
  });
}

/** The strongest first. */
const RESULTS = /** @type {const} */ (['Denied', 'Restored', 'Added']);

/**
 * What taintkeeper would have done without --audit: the strongest of several outcomes, in words.
 * @param {Pick<PageDecision, 'violations'>} decision
 */
export function trialOf({ violations }) {
  const trials = violations.filter(({ audit }) => audit);
  return RESULTS.flatMap((strongest) => trials.find(({ result }) => result === strongest)?.outcome ?? [])[0];
}

/**
 * What came of a request, in one word with its sign: a taint that was restored is another thing than an entry that was used.
 * @param {Pick<PageDecision, 'result' | 'violations'>} decision
 * @returns {{ readonly sign: string; readonly word: string; readonly name: string }}
 */
export function resultOf(decision) {
  const results = decision.violations.map(({ result }) => result);
  const trial = trialOf(decision);
  if (trial !== undefined) return { sign: '?', word: trial, name: 'trial' };
  if (decision.result === 'denied') return { sign: '✕', word: 'denied', name: 'denied' };
  if (results.includes('Restored')) return { sign: '↺', word: 'restored', name: 'restored' };
  if (results.includes('Added')) return { sign: '+', word: 'added', name: 'added' };
  if (results.includes('AllowedByAnnotation')) return { sign: '−', word: 'entry used', name: 'entry' };
  if (results.includes('AllowedByExemption')) return { sign: '−', word: 'exempt', name: 'entry' };
  return decision.result === 'patched'
    ? { sign: '+', word: 'patched', name: 'added' }
    : { sign: '!', word: 'reported', name: 'reported' };
}

/**
 * The filters of a list. An empty or absent filter matches all.
 * @typedef {Readonly<Record<string, string>>} Filters
 */

/**
 * A view of the page: a panel, one of its objects (a node's name, `NAMESPACE/NAME` of a DaemonSet, `KIND/NAME` of a policy, or empty), and
 * the filters of its list. The address has all of it: `#nodes/gpu-7?show=missing`.
 * @typedef {{ readonly tab: string; readonly object: string; readonly filters: Filters }} PageAddress
 */

/**
 * @param {string} tab
 * @param {string} [object]
 * @param {Filters} [filters]
 */
export function hrefOf(tab, object = '', filters = {}) {
  const path = [tab, ...(object === '' ? [] : object.split('/'))].map(encodeURIComponent).join('/');
  const query = new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== '')).toString();
  return `#${path}${query === '' ? '' : `?${query}`}`;
}

/**
 * The reverse of {@link hrefOf}.
 * @param {string} hash of an address, which a user may have typed
 * @returns {PageAddress}
 */
export function placeIn(hash) {
  const [path = '', ...query] = hash.replace(/^#/, '').split('?');
  const [tab = '', ...object] = path.split('/').map(decoded);
  return { tab, object: object.join('/'), filters: Object.fromEntries(new URLSearchParams(query.join('?'))) };
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
