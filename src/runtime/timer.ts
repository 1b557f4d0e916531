/** 2^31 - 1: `setTimeout` of Node.js calls back at once for a longer time, and warns. */
const LONGEST_TIMER_MS = 2_147_483_647;

/**
 * `setTimeout` for a computed time. A time that has passed means at once: Node.js warns about a negative one. A time that is too
 * long for a timer is cut to the longest one (25 days), so `work` has to check whether it is early.
 */
export function startTimer(work: () => void, ms: number): NodeJS.Timeout {
  return setTimeout(work, Math.min(Math.max(0, ms), LONGEST_TIMER_MS));
}
