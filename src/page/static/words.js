// @ts-check

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
