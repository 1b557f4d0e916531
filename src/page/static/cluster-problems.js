// @ts-check
/** @import { CoverageMatrix, NodeMap } from '../state.ts' */
/** @import { Fix } from './fixes.js' */
/** @import { BadCell } from './node-rows.js' */
/** @import { Problem } from './problems.js' */
import { describeDaemonSets, listGaps, taintFix, tolerate, whyNot } from './fixes.js';
import { losses, STATES } from './node-rows.js';
import { counted, hrefOf } from './words.js';

/** How many nodes or DaemonSets a problem names. */
export const MAX_NAMED = 3;

/** If there are more causes than this, the table of nodes has the rest. */
const MAX_CAUSES = 8;

/**
 * Nodes that lack a taint by the same field of a policy and for the same reason.
 * @typedef {object} Cause
 * @property {BadCell} cell
 * @property {number} column
 * @property {NodeMap['notes'][number]} note of the first of them
 * @property {boolean} alike whether it is the same taint on each
 * @property {string[]} nodes
 */

/** @type {WeakMap<NodeMap, Problem[]>} they are asked for every second */
const known = new WeakMap();

/**
 * @param {NodeMap | undefined} nodes
 * @returns {Problem[]}
 */
export function nodeProblems(nodes) {
  if (nodes === undefined) return [];
  const found = known.get(nodes) ?? problemsOf(nodes);
  known.set(nodes, found);
  return found;
}

/**
 * @param {NodeMap} map
 * @returns {Problem[]}
 */
function problemsOf(map) {
  /** @type {Map<string, Cause>} */
  const causes = new Map();
  for (const row of map.rows) {
    for (const { cell, column, note } of losses(map, row)) {
      const key = `${cell} ${column} ${note.blockedBy}`;
      const cause = causes.get(key) ?? { cell, column, note, alike: true, nodes: [] };
      causes.set(key, cause);
      cause.alike &&= cause.note.taint === note.taint;
      cause.nodes.push(row.name);
    }
  }
  const sorted = [...causes.values()].sort(
    (a, b) => 'mdc'.indexOf(a.cell) - 'mdc'.indexOf(b.cell) || b.nodes.length - a.nodes.length,
  );
  const left = sorted.slice(MAX_CAUSES);
  const others = new Set(left.flatMap(({ nodes }) => nodes)).size;
  return [
    ...sorted.slice(0, MAX_CAUSES).map((cause) => nodeProblem(map, cause)),
    ...(left.length > 0
      ? [
          /** @type {Problem} */ ({
            level: 'attention',
            text: `${counted(others, 'node')} for ${counted(left.length, 'more reason')}`,
            tab: 'nodes',
            href: hrefOf('nodes', '', { show: 'problem' }),
          }),
        ]
      : []),
  ];
}

/** @type {Readonly<Record<BadCell, string>>} with the words of the states */
const HOW = { m: 'is missing', d: 'has another value', c: 'is in conflict' };

/**
 * @param {NodeMap} map
 * @param {Cause} cause
 * @returns {Problem}
 */
function nodeProblem({ columns }, { cell, column, note, alike, nodes }) {
  const { policy = '', mode = '', taint = '' } = columns[column] ?? {};
  const count = nodes.length;
  return {
    level: mode === 'Audit' || cell === 'c' ? 'attention' : 'failed',
    text: `${alike ? note.taint : taint} ${HOW[cell]} on ${counted(count, 'node')}`,
    tab: 'nodes',
    href: hrefOf('nodes', '', { show: STATES[cell].name, policy }),
    names: nodes.slice(0, MAX_NAMED).map((name) => ({ text: name, href: hrefOf('nodes', name) })),
    more: count - Math.min(MAX_NAMED, count),
    why: `TaintPolicy ${policy}: ${whyNot(note.blockedBy, columns[column])}`,
    fix: alike ? taintFix(nodes, note) : undefined,
  };
}

/**
 * That a pool's own taint keeps a DaemonSet off is mostly intended: the panel shows it, and it is no problem.
 *
 * @param {CoverageMatrix | undefined} coverage
 * @returns {Problem[]}
 */
export function coverageProblems(coverage) {
  if (coverage === undefined) return [];
  const { daemonSets } = coverage;
  const down = daemonSets.filter(({ unavailable }) => unavailable > 0);
  const off = daemonSets.filter(({ keptOff, halfTolerant, optsOut }) => keptOff > 0 && halfTolerant && !optsOut);
  return [
    ...daemonSetProblem(down, 'unavailable', (count) => `${count} with pods unavailable`, describeDaemonSets(down)),
    ...daemonSetProblem(
      off,
      'tainted',
      (count) => `${count} kept off nodes, tolerating one of the two names of the control plane's taint`,
      letRun(coverage, off),
    ),
  ];
}

/**
 * @param {CoverageMatrix} coverage
 * @param {CoverageMatrix['daemonSets']} off
 */
function letRun(coverage, off) {
  const [first] = off;
  return off.length === 1 && first ? tolerate(first, keysOf(coverage, first)) : listGaps();
}

/**
 * @param {CoverageMatrix['daemonSets']} found
 * @param {string} show
 * @param {(count: string) => string} text
 * @param {Fix | undefined} fix
 * @returns {Problem[]}
 */
function daemonSetProblem(found, show, text, fix) {
  if (found.length === 0) return [];
  const names = found.slice(0, MAX_NAMED).map(({ namespace, name }) => `${namespace}/${name}`);
  return [
    {
      level: 'attention',
      text: text(counted(found.length, 'DaemonSet')),
      tab: 'coverage',
      href: hrefOf('coverage', '', { show }),
      names: names.map((one) => ({ text: one, href: hrefOf('coverage', one) })),
      more: found.length - names.length,
      fix,
    },
  ];
}

/**
 * The keys of the lasting taints that keep a DaemonSet off.
 * @param {CoverageMatrix} coverage
 * @param {CoverageMatrix['daemonSets'][number]} row
 */
export function keysOf({ answers }, { cells }) {
  return [...new Set(cells.flatMap((answer) => answers[answer]?.keys ?? []))].sort();
}
