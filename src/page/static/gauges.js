// @ts-check
/** @import { PageDecision, PageState } from '../state.ts' */
/** @import { Level, Tab } from './problems.js' */

import { resultOf } from './decision-words.js';
import { hasProblem } from './node-rows.js';
import { lasting, levelOf } from './problems.js';
import { ago, counted, number } from './words.js';

/** @typedef {Level | 'plain'} GaugeLevel `plain`: nothing to judge */

/**
 * The summary of a panel on its tab.
 * @typedef {object} Gauge
 * @property {string} figure
 * @property {string} unit what the figure counts
 * @property {string} note
 * @property {GaugeLevel} level
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
  const { problems } = state;
  /** @type {(tab: Tab) => Level} */
  const levelOn = (tab) => levelOf(problems.filter(({ place }) => place?.tab === tab));
  return {
    overview: overviewGauge(state),
    policies: policyGauge(state, levelOn('policies')),
    nodes: nodeGauge(state, levelOn('nodes')),
    coverage: coverageGauge(state, levelOn('coverage')),
    decisions: decisionGauge(decisions, now),
  };
}

/**
 * @param {PageState} state
 * @returns {Gauge}
 */
function overviewGauge({ problems }) {
  const lastingCount = lasting(problems).length;
  const repairing = problems.length - lastingCount;
  const level = levelOf(problems);
  const what = level === 'attention' ? 'warning' : 'problem';
  return {
    figure: number(lastingCount),
    unit: lastingCount === 1 ? what : `${what}s`,
    note:
      lastingCount > 1
        ? 'the worst first'
        : lastingCount > 0
          ? 'see what to do'
          : repairing > 0
            ? 'being repaired'
            : 'nothing to do',
    level,
  };
}

/**
 * @param {PageState} state
 * @param {GaugeLevel} level
 * @returns {Gauge}
 */
function policyGauge({ policies, audit, webhooks }, level) {
  const out = policies.filter(({ summary }) => summary.level === 'failed').length;
  const isUntrusted = webhooks.some(({ trusted }) => trusted === false);
  if (policies.length === 0) return { figure: '0', unit: 'policies', note: 'none declared', level: 'attention' };
  return {
    figure: number(policies.length),
    unit: policies.length === 1 ? 'policy' : 'policies',
    note: isUntrusted
      ? 'the webhooks are not trusted'
      : out > 0
        ? `${number(out)} not in force`
        : audit
          ? 'all as Audit'
          : 'all in force',
    level: isUntrusted ? 'failed' : level,
  };
}

/**
 * @param {PageState} state
 * @param {GaugeLevel} level
 * @returns {Gauge}
 */
function nodeGauge(state, level) {
  const { nodes } = state;
  if (nodes === undefined) return { figure: '–', unit: 'nodes', note: unknownNote(state), level: 'plain' };
  const bad = nodes.rows.filter(({ cells }) => hasProblem(cells)).length;
  const all = nodes.rows.length + nodes.unselected;
  return {
    figure: number(all),
    unit: all === 1 ? 'node' : 'nodes',
    note: bad > 0 ? `taints missing on ${number(bad)}` : nodes.rows.length > 0 ? 'no taint missing' : 'none selected',
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
  if (coverage === undefined) return { figure: '–', unit: 'DaemonSets', note: unknownNote(state), level: 'plain' };
  const { daemonSets, groups, groupsLeftOut } = coverage;
  const unavailable = daemonSets.filter((row) => row.unavailable > 0).length;
  const kept = daemonSets.filter(({ keptOff, optsOut }) => keptOff > 0 && !optsOut).length;
  const needed = daemonSets.filter(({ gap }) => gap).length;
  return {
    figure: number(daemonSets.length),
    unit: `${daemonSets.length === 1 ? 'DaemonSet' : 'DaemonSets'} on ${counted(groups.length + groupsLeftOut, 'kind')} of nodes`,
    note:
      needed > 0
        ? `${number(needed)} needed and kept off`
        : unavailable > 0
          ? `${number(unavailable)} with pods unavailable`
          : kept > 0
            ? `${number(kept)} kept off by taints`
            : 'no taint in the way',
    level: level === 'ok' && kept + unavailable > 0 ? 'plain' : level,
  };
}

/**
 * @param {readonly PageDecision[]} decisions
 * @param {number} now
 * @returns {Gauge}
 */
function decisionGauge(decisions, now) {
  const [latest] = decisions;
  const unit = decisions.length === 1 ? 'decision' : 'decisions';
  if (latest === undefined) return { figure: '0', unit, note: 'none yet', level: 'plain' };
  return {
    figure: number(decisions.length),
    unit,
    note: `${resultOf(latest).word} ${ago(now - Date.parse(latest.time))}`,
    level: 'plain',
  };
}

/** @param {PageState} state */
function unknownNote({ mode, leader }) {
  if (mode === 'standalone') return 'no cluster';
  return leader.isThis ? 'being read' : 'known to the leader';
}
