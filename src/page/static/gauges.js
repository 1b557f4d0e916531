// @ts-check
/** @import { PageDecision, PageState } from '../state.ts' */
/** @import { Level, Tab } from './problems.js' */
import { hasProblem } from './node-rows.js';
import { problems } from './problems.js';
import { ago, number, trialOf } from './words.js';

/** @typedef {Level | 'plain'} GaugeLevel `plain`: nothing to judge */

/**
 * The summary of a panel on its tab.
 * @typedef {{ readonly figure: string; readonly note: string; readonly level: GaugeLevel }} Gauge
 */

/**
 * The summaries of all panels.
 *
 * @param {PageState} state
 * @param {readonly PageDecision[]} decisions the latest first
 * @param {number} now
 * @returns {Record<Tab, Gauge>}
 */
export function gauges(state, decisions, now) {
  const found = problems(state, now);
  const levelOf = (/** @type {Tab} */ tab) => found.find((problem) => problem.tab === tab)?.level;
  return {
    policies: policyGauge(state, levelOf('policies') ?? 'ok'),
    nodes: nodeGauge(state, levelOf('nodes') ?? 'ok'),
    coverage: coverageGauge(state, levelOf('coverage') ?? 'plain'),
    decisions: decisionGauge(decisions, now),
  };
}

/**
 * @param {PageState} state
 * @param {GaugeLevel} level
 * @returns {Gauge}
 */
function policyGauge({ policies, audit }, level) {
  const out = policies.filter(({ valid }) => !valid).length;
  if (policies.length === 0) return { figure: '0', note: 'none declared', level: 'attention' };
  const unmet = policies.filter(({ violating = 0 }) => violating > 0).length;
  const inForce = audit ? 'all as Audit' : 'all in force';
  return {
    figure: number(policies.length),
    note: out > 0 ? `${number(out)} not in force` : unmet > 0 ? `${inForce}, ${number(unmet)} not met` : inForce,
    level: level === 'ok' && unmet > 0 ? 'attention' : level,
  };
}

/**
 * @param {PageState} state
 * @param {GaugeLevel} level
 * @returns {Gauge}
 */
function nodeGauge(state, level) {
  const { nodes } = state;
  if (nodes === undefined) return { figure: '–', note: unknownNote(state), level: 'plain' };
  const bad = nodes.rows.filter(({ cells }) => hasProblem(cells)).length;
  return {
    figure: number(nodes.rows.length + nodes.unselected),
    note: bad > 0 ? `${number(bad)} not as declared` : nodes.rows.length > 0 ? 'all as declared' : 'none selected',
    level,
  };
}

/**
 * @param {PageState} state
 * @param {GaugeLevel} level
 * @returns {Gauge}
 */
function coverageGauge(state, level) {
  const { coverage } = state;
  if (coverage === undefined) return { figure: '–', note: unknownNote(state), level: 'plain' };
  const { daemonSets, groups } = coverage;
  const unavailable = daemonSets.filter((row) => row.unavailable > 0).length;
  const kept = daemonSets.filter(({ keptOff, optsOut }) => keptOff > 0 && !optsOut).length;
  const figure = `${number(daemonSets.length)} × ${number(groups.length)}`;
  if (unavailable > 0) return { figure, note: `${number(unavailable)} with pods unavailable`, level };
  return { figure, note: kept > 0 ? `${number(kept)} kept off by taints` : 'no taint in the way', level };
}

/**
 * @param {readonly PageDecision[]} decisions
 * @param {number} now
 * @returns {Gauge}
 */
function decisionGauge(decisions, now) {
  const [latest] = decisions;
  if (latest === undefined) return { figure: '0', note: 'none yet', level: 'plain' };
  return {
    figure: number(decisions.length),
    note: `${trialOf(latest) ?? latest.result} ${ago(now - Date.parse(latest.time))}`,
    level: 'plain',
  };
}

/** @param {PageState} state */
function unknownNote({ mode, leader }) {
  if (mode === 'standalone') return 'no cluster';
  return leader.isThis ? 'being read' : 'known to the leader';
}
