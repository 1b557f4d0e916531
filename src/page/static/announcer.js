// @ts-check
/** @import { PageDecision } from '../state.ts' */
import { objectOf } from './decision-item.js';
import { counted } from './words.js';

/** Least time between two announcements to those who hear the page. */
const ANNOUNCE_EVERY_MS = 5_000;

/**
 * Says what is new, without talking all the time.
 * @param {HTMLElement} region a polite live region
 * @returns {(news: readonly PageDecision[]) => void}
 */
export function announcer(region) {
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
