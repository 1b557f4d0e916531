/** 2^31 - 1: Node.js runs a `setTimeout` with a longer time at once, and warns. */
const LONGEST_TIMER_MS = 2_147_483_647;

/**
 * `setTimeout` for a computed time. A past time means at once, because Node.js warns about a negative one. A longer time than a timer allows (25
 * days) is shortened, so `work` must check whether it is early.
 */
export function startTimer(work: () => void, ms: number): NodeJS.Timeout {
  return setTimeout(work, Math.min(Math.max(0, ms), LONGEST_TIMER_MS));
}
