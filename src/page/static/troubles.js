// @ts-check
/** @import { NodeMap, PageState } from '../state.ts' */
import { counted, DAY_MS, number } from './words.js';

/** @typedef {'ok' | 'attention' | 'failed'} Level how much somebody has to look at it */
/** @typedef {'policies' | 'nodes' | 'coverage' | 'decisions' | 'trust'} Tab */

/**
 * Something that is wrong, and where to read on.
 * @typedef {{ readonly level: 'attention' | 'failed'; readonly text: string; readonly tab: Tab }} Trouble
 */

/** From here on a certificate should have been renewed long ago: that happens when a third of its life is left. */
const EXPIRY_CONCERN_MS = 14 * DAY_MS;

/**
 * All that is wrong, the worst first.
 *
 * @param {PageState} state
 * @param {number} now milliseconds since the epoch
 * @returns {Trouble[]}
 */
export function troubles(state, now) {
  const all = [
    ...checkTroubles(state),
    ...certificateTroubles(state, now),
    ...policyTroubles(state),
    ...nodeTroubles(state.nodes),
    ...(state.mode === 'cluster' && state.leader.name === undefined && !state.leader.isThis ? [NOBODY_LEADS] : []),
  ];
  return [...all.filter(({ level }) => level === 'failed'), ...all.filter(({ level }) => level !== 'failed')];
}

/**
 * The troubles in one line.
 * @param {readonly Trouble[]} found
 * @param {Pick<PageState, 'mode'>} state
 */
export function verdict(found, { mode }) {
  const wrong = found.filter(({ level }) => level === 'failed').length;
  const others = found.length - wrong;
  const lookAt = `${wrong > 0 ? number(others) : counted(others, 'thing')} to look at`;
  if (found.length === 0) {
    return mode === 'standalone' ? 'Serving requests; no cluster to check' : 'Everything is as declared';
  }
  if (wrong === 0) return lookAt;
  const are = `${counted(wrong, 'thing')} ${wrong === 1 ? 'is' : 'are'} wrong`;
  return others === 0 ? are : `${are}, ${lookAt}`;
}

/** @type {Trouble} */
const NOBODY_LEADS = {
  level: 'attention',
  text: 'No replica leads: nothing is repaired outside of requests',
  tab: 'trust',
};

/**
 * @param {PageState} state
 * @returns {Trouble[]}
 */
function checkTroubles({ checks, policies }) {
  const named = policies.some(({ valid }) => !valid);
  return checks.flatMap(({ name, state, detail }) =>
    // Policies that are not in force are named one by one.
    state === 'ok' || (name === 'policies' && state === 'degraded' && named)
      ? []
      : [
          {
            level: state === 'failed' ? 'failed' : 'attention',
            text: `${capital(name)}: ${detail}`,
            tab: name === 'policies' ? 'policies' : 'trust',
          },
        ],
  );
}

/**
 * @param {PageState} state
 * @param {number} now
 * @returns {Trouble[]}
 */
function certificateTroubles({ certificate, checks }, now) {
  const told = checks.some(({ name, state }) => name === 'certificate' && state !== 'ok');
  if (certificate === undefined || told) return [];
  const left = Date.parse(certificate.notAfter) - now;
  if (left <= 0) return [{ level: 'failed', text: 'The serving certificate has expired', tab: 'trust' }];
  if (left >= EXPIRY_CONCERN_MS) return [];
  return [
    {
      level: 'attention',
      text: `The serving certificate expires in ${counted(Math.floor(left / DAY_MS), 'day')}`,
      tab: 'trust',
    },
  ];
}

/**
 * @param {PageState} state
 * @returns {Trouble[]}
 */
function policyTroubles({ policies, nodes, checks }) {
  const read = checks.every(({ name, state }) => name !== 'policies' || state === 'ok');
  if (policies.length === 0 && read) {
    return [{ level: 'attention', text: 'There are no policies: nothing is protected', tab: 'policies' }];
  }
  return policies.flatMap((policy) => {
    const { kind, name, valid, problems, generationInForce, conditions, violating = 0, matched = 0 } = policy;
    /** @type {Trouble[]} */
    const found = [];
    const say = (/** @type {Trouble['level']} */ level, /** @type {string} */ what) =>
      found.push({ level, text: `${kind} ${name} ${what}`, tab: 'policies' });
    if (!valid && generationInForce !== undefined) {
      say(
        'attention',
        `cannot be used as it stands, and generation ${generationInForce} stays in force: ${problems[0]}`,
      );
    } else if (!valid) say('failed', `is not in force: ${problems[0] ?? 'it cannot be read'}`);
    const ready = conditions.find(({ type }) => type === 'Ready');
    if (valid && ready && ready.status !== 'True') say('failed', `is not ready: ${ready.message}`);
    for (const { type, status, message } of conditions) {
      if (type === 'Stalled' && status === 'True') say('attention', `needs attention: ${message}`);
      if (type === 'Intruders' && status === 'True') say('attention', `names intruders: ${message}`);
      if (type === 'FieldsIgnored' && status === 'True') say('attention', `is in force without ${message}`);
      if (type === 'PoolLacksTaint' && status === 'True') say('attention', `has a taint that a pool lacks: ${message}`);
    }
    // Where the nodes are known, they are told of themselves.
    if (violating > 0 && !(kind === 'TaintPolicy' && nodes)) {
      say('attention', `finds ${number(violating)} of ${counted(matched, noun(kind))} not as declared`);
    }
    return found;
  });
}

/** @param {PageState['policies'][number]['kind']} kind */
export function noun(kind) {
  return kind === 'TaintPolicy' ? 'node' : 'DaemonSet';
}

/**
 * @param {NodeMap | undefined} nodes
 * @returns {Trouble[]}
 */
function nodeTroubles(nodes) {
  if (nodes === undefined) return [];
  const binding = nodes.columns.map(({ mode }) => mode !== 'Audit');
  return NODE_TROUBLES.flatMap(({ letter, text }) => {
    const rows = nodes.rows.filter(({ cells }) => cells.includes(letter));
    if (rows.length === 0) return [];
    const enforced = rows.some(({ cells }) => [...cells].some((cell, column) => cell === letter && binding[column]));
    return [{ level: enforced && letter !== 'c' ? 'failed' : 'attention', text: text(rows.length), tab: 'nodes' }];
  });
}

/** @type {{ letter: string; text: (count: number) => string }[]} */
const NODE_TROUBLES = [
  { letter: 'm', text: (count) => `${counted(count, 'node')} ${count === 1 ? 'lacks' : 'lack'} a protected taint` },
  {
    letter: 'd',
    text: (count) =>
      `${counted(count, 'node')} ${count === 1 ? 'carries' : 'carry'} a protected taint with another value`,
  },
  {
    letter: 'c',
    text: (count) => `On ${counted(count, 'node')} a protected taint is removed again and again`,
  },
];

/** @param {string} text */
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
