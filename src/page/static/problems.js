// @ts-check
/** @import { PageProblem, PageState } from '../state.ts' */
import { counted } from './words.js';

/** @typedef {'ok' | 'attention' | 'failed'} Level the severity */
/** @typedef {'overview' | 'policies' | 'nodes' | 'coverage' | 'decisions'} Tab */

/** @param {readonly PageProblem[]} problems what is not being repaired already */
export const lasting = (problems) => problems.filter(({ level }) => level !== 'repairing');

/**
 * The worst level.
 * @param {readonly PageProblem[]} problems
 * @returns {Level}
 */
export function levelOf(problems) {
  const levels = problems.map(({ level }) => level);
  return levels.includes('failed') ? 'failed' : levels.includes('attention') ? 'attention' : 'ok';
}

/**
 * The problems in one line.
 * @param {Pick<PageState, 'mode' | 'problems'>} state
 */
export function headline({ mode, problems }) {
  const failed = problems.filter(({ level }) => level === 'failed').length;
  const warnings = problems.filter(({ level }) => level === 'attention').length;
  if (failed + warnings === 0) {
    return mode === 'standalone' ? 'Serving requests; no cluster to check' : 'No problems';
  }
  return [
    ...(failed > 0 ? [counted(failed, 'problem')] : []),
    ...(warnings > 0 ? [counted(warnings, 'warning')] : []),
  ].join(', ');
}
