// @ts-check
/** @import { PageDecision } from '../state.ts' */

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
