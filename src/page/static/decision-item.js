// @ts-check
/** @import { DecidedChange, PageDecision } from '../state.ts' */
import { diff } from './diff.js';
import { breakable, drawn, h, spoken } from './dom.js';
import { localTime, number } from './words.js';

/** @param {PageDecision} decision */
export function objectOf({ kind, namespace, name }) {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name || '(name to be generated)'}`;
}

const SIGNS = { denied: '✕', patched: '+', allowed: '✓' };

/** @param {PageDecision} decision */
export function articleOf(decision) {
  const {
    time,
    verdict,
    operation,
    user,
    dryRun,
    message,
    warnings,
    violations,
    violationsLeftOut,
    changes,
    changesLeftOut,
    replica,
  } = decision;
  const [day, clock = '', zone = ''] = localTime(time).split(' ');
  return h(
    'li',
    { class: `decision is-${verdict}` },
    h('time', { datetime: time, title: `${day} ${clock} ${zone}` }, clock, h('span', { class: 'quiet line' }, day)),
    h('span', { class: 'verdict' }, drawn(`${SIGNS[verdict]} `), verdict),
    h(
      'div',
      { class: 'what' },
      h(
        'p',
        { class: 'subject' },
        h('span', { class: 'quiet' }, `${operation} `),
        h('strong', { class: 'mono' }, ...breakable(objectOf(decision))),
        h('span', { class: 'quiet' }, ' by '),
        h('span', { class: 'mono' }, ...breakable(user || 'nobody named')),
        dryRun && h('span', { class: 'tag' }, 'dry run'),
      ),
      message !== undefined && h('p', {}, ...breakable(message)),
      ...warnings.map((warning) => h('p', {}, ...breakable(warning))),
      ...changes.map(changeOf),
      changesLeftOut && h('p', { class: 'quiet' }, 'The patch was too large to be kept.'),
      violations.length > 0 &&
        h(
          'ul',
          { class: 'violations' },
          ...violations.map(({ outcome, policyKind, policy, field: where, subject }) =>
            h(
              'li',
              {},
              h('span', { class: `outcome is-${outcome}` }, outcome.replace('-', ' ')),
              ' ',
              h('span', { class: 'mono' }, ...breakable(subject)),
              h('span', { class: 'quiet' }, ` · ${policyKind} ${policy}, ${where}`),
            ),
          ),
          violationsLeftOut > 0 && h('li', { class: 'quiet' }, `and ${number(violationsLeftOut)} more`),
        ),
      h('p', { class: 'quiet small' }, `answered by ${replica}`),
    ),
  );
}

const SIGN_WORDS = { '+': 'added: ', '-': 'removed: ', ' ': 'unchanged: ' };

/** @param {DecidedChange} change */
function changeOf(change) {
  const { path, lines } = diff(change);
  return h(
    'div',
    { class: 'diff' },
    h('p', { class: 'quiet mono' }, ...breakable(path)),
    h(
      'ul',
      {},
      ...lines.map(({ sign, text }) =>
        h(
          'li',
          { class: sign === '+' ? 'added' : sign === '-' ? 'removed' : 'same' },
          drawn(`${sign === '-' ? '−' : sign} `),
          spoken(SIGN_WORDS[sign]),
          ...breakable(text),
        ),
      ),
    ),
  );
}
