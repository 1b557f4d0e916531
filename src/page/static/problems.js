// @ts-check
/** @import { PageState } from '../state.ts' */
/** @import { Fix } from './fixes.js' */
import { coverageProblems, MAX_NAMED, nodeProblems } from './cluster-problems.js';
import { doctor, editPolicy, explain, patchExisting } from './fixes.js';
import { counted, DAY_MS, hrefOf, number } from './words.js';

/** @typedef {'ok' | 'attention' | 'failed'} Level the severity */
/** @typedef {'policies' | 'nodes' | 'coverage' | 'decisions'} Tab */

/**
 * A problem, and the address with its details if there is one.
 * @typedef {object} Problem
 * @property {'attention' | 'failed'} level
 * @property {string} text
 * @property {Tab} [tab] where it is shown; absent if no panel does
 * @property {string} [href] what shows all of it
 * @property {readonly { readonly text: string; readonly href: string | undefined }[]} [names] the first few whom it concerns
 * @property {number} [more] how many there are besides those
 * @property {string} [why]
 * @property {Fix | undefined} [fix]
 */

/** By then a certificate should have been renewed: that happens when a third of its life is left. */
export const EXPIRY_CONCERN_MS = 14 * DAY_MS;

/**
 * All problems, the worst first.
 *
 * @param {PageState} state
 * @param {number} now milliseconds since the epoch
 * @returns {Problem[]}
 */
export function problems(state, now) {
  const all = [
    ...checkProblems(state),
    ...certificateProblems(state, now),
    ...policyProblems(state),
    ...nodeProblems(state.nodes),
    ...coverageProblems(state.coverage),
    ...(state.mode === 'cluster' && state.leader.name === undefined && !state.leader.isThis ? [NO_LEADER] : []),
  ];
  return [...all.filter(({ level }) => level === 'failed'), ...all.filter(({ level }) => level !== 'failed')];
}

/**
 * The problems in one line.
 * @param {readonly Problem[]} found
 * @param {Pick<PageState, 'mode'>} state
 */
export function headline(found, { mode }) {
  if (found.length === 0) {
    return mode === 'standalone' ? 'Serving requests; no cluster to check' : 'Everything is as declared';
  }
  const failed = found.filter(({ level }) => level === 'failed').length;
  const warnings = found.length - failed;
  return [
    ...(failed > 0 ? [counted(failed, 'problem')] : []),
    ...(warnings > 0 ? [counted(warnings, 'warning')] : []),
  ].join(', ');
}

/** @type {Problem} */
const NO_LEADER = {
  level: 'attention',
  text: 'No replica leads: nothing is repaired outside of requests',
  fix: doctor(),
};

/**
 * @param {PageState} state
 * @returns {Problem[]}
 */
function checkProblems({ checks, policies, mode }) {
  const named = policies.some(({ valid }) => !valid);
  return checks.flatMap(({ name, state, detail }) => {
    // Each policy that is not in force is a problem of its own.
    if (state === 'ok' || (name === 'policies' && state === 'degraded' && named)) return [];
    const level = state === 'failed' ? 'failed' : 'attention';
    const fix = mode === 'cluster' ? doctor() : undefined;
    const text = `${capital(name)}: ${detail}`;
    return [
      name === 'policies' ? { level, text, tab: 'policies', href: hrefOf('policies'), fix } : { level, text, fix },
    ];
  });
}

/**
 * @param {PageState} state
 * @param {number} now
 * @returns {Problem[]}
 */
function certificateProblems({ certificate, checks, mode }, now) {
  const isListed = checks.some(({ name, state }) => name === 'certificate' && state !== 'ok');
  if (certificate === undefined || isListed) return [];
  const left = Date.parse(certificate.notAfter) - now;
  if (left >= EXPIRY_CONCERN_MS) return [];
  const text = left <= 0 ? 'has expired' : `expires in ${counted(Math.floor(left / DAY_MS), 'day')}`;
  const level = left <= 0 ? 'failed' : 'attention';
  const fix = mode === 'cluster' ? doctor() : undefined;
  return [{ level, text: `The serving certificate ${text}`, fix }];
}

/**
 * @param {PageState} state
 * @returns {Problem[]}
 */
function policyProblems({ policies, nodes, checks }) {
  const read = checks.every(({ name, state }) => name !== 'policies' || state === 'ok');
  if (policies.length === 0 && read) {
    const text = 'There are no policies: nothing is protected';
    return [{ level: 'attention', text, tab: 'policies', href: hrefOf('policies') }];
  }
  return policies.flatMap((policy) => {
    const {
      kind,
      name,
      valid,
      problems,
      generationInForce,
      conditions,
      violators,
      violating = 0,
      matched = 0,
    } = policy;
    /** @type {Problem[]} */
    const found = [];
    const href = hrefOf('policies', `${kind}/${name}`);
    const say = (
      /** @type {Problem['level']} */ level,
      /** @type {string} */ what,
      /** @type {Partial<Problem>} */ more = {},
    ) => found.push({ level, text: `${kind} ${name} ${what}`, tab: 'policies', href, ...more });
    const fix = editPolicy(policy);
    if (!valid && generationInForce !== undefined) {
      say(
        'attention',
        `cannot be used as it stands, and generation ${generationInForce} stays in force until taintkeeper restarts: ${problems[0]}`,
        { fix },
      );
    } else if (!valid) say('failed', `is not in force: ${problems[0] ?? 'it cannot be read'}`, { fix });
    for (const { type, level, word, message, next: why } of conditions) {
      // An invalid spec is reported above.
      if (level === 'quiet' || (type === 'Ready' && !valid)) continue;
      const more = { ...(why === undefined ? {} : { why }), ...(level === 'attention' ? {} : { fix: doctor() }) };
      say(level === 'failed' ? 'failed' : 'attention', `is ${word}: ${message}`, more);
    }
    // If the nodes are known, their problems are reported by cause.
    if (violating > 0 && !(kind === 'TaintPolicy' && nodes)) {
      const [first] = violators;
      const isPods = kind === 'RecoveryPolicy';
      const what = isPods
        ? `finds ${counted(violating, 'stuck pod')}`
        : `finds ${number(violating)} of ${counted(matched, noun(kind))} not as declared`;
      say('attention', what, {
        names: violators.slice(0, MAX_NAMED).map((one) => ({ text: one, href: violatorHref(kind, one) })),
        more: violating - Math.min(MAX_NAMED, violators.length),
        fix: isPods && first !== undefined ? explain('pod', first) : patchExisting(policy),
      });
    }
    return found;
  });
}

/**
 * What a policy selects.
 * @param {PageState['policies'][number]['kind']} kind
 */
export function noun(kind) {
  return kind === 'TaintPolicy' ? 'node' : 'DaemonSet';
}

/**
 * @param {PageState['policies'][number]['kind']} kind
 * @param {string} violator as the status of such a policy names it
 * @returns {string | undefined} undefined for a pod, which the page does not show
 */
export function violatorHref(kind, violator) {
  if (kind === 'RecoveryPolicy') return undefined;
  return hrefOf(kind === 'TaintPolicy' ? 'nodes' : 'coverage', violator);
}

/** @param {string} text */
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
