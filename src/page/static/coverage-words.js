// @ts-check
/** @import { CoverageAnswer, NodeGroup } from '../state.ts' */

/** @type {Record<CoverageAnswer['kind'] | 'evicted' | 'passing', { sign: string; word: string }>} */
export const ANSWERS = {
  runs: { sign: '●', word: 'runs' },
  evicted: { sign: '◔', word: 'runs, but each pod is evicted' },
  tainted: { sign: '✕', word: 'kept off by taints' },
  stays: { sign: '◐', word: 'kept off, but a pod that is there stays' },
  passing: { sign: '◌', word: 'kept off for the moment' },
  elsewhere: { sign: '·', word: 'meant for other nodes' },
};

/** @param {CoverageAnswer} answer */
export function answerName({ kind, passing, evicted }) {
  if (evicted) return 'evicted';
  return passing ? 'passing' : kind;
}

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
