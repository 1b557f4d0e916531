// @ts-check
/** @import { DecidedChange, PageDecision } from '../state.ts' */
import { diff } from './diff.js';
import { breakable, drawn, h, spoken } from './dom.js';
import { counted, hrefOf, localTime, number } from './words.js';

/** @param {PageDecision} decision */
export function objectOf({ kind, namespace, name }) {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name || '(name to be generated)'}`;
}

/** @param {PageDecision} decision @returns {string | undefined} the address of the object on the page */
function objectHref({ kind, namespace, name }) {
  if (name === '') return undefined;
  return kind === 'Node' ? hrefOf('nodes', name) : hrefOf('coverage', `${namespace}/${name}`);
}

const SIGNS = { denied: '✕', patched: '+', allowed: '✓' };

/** @param {PageDecision} decision */
export function articleOf(decision) {
  const { time, result, operation, user, origin, violationsLeftOut, changes, changesLeftOut } = decision;
  const { unlisted, replica, message, warnings, violations } = decision;
  const href = objectHref(decision);
  const object = breakable(objectOf(decision));
  const [day, clock = '', zone = ''] = localTime(time).split(' ');
  return h(
    'li',
    { class: `decision is-${result}` },
    h('time', { datetime: time, title: `${day} ${clock} ${zone}` }, clock, h('span', { class: 'quiet line' }, day)),
    h('span', { class: 'result' }, drawn(`${SIGNS[result]} `), result),
    h(
      'div',
      { class: 'what' },
      h(
        'p',
        {},
        h('span', { class: 'quiet' }, `${operation} `),
        h('strong', { class: 'mono' }, href === undefined ? h('span', {}, ...object) : h('a', { href }, ...object)),
        h('span', { class: 'quiet' }, ' by '),
        h('span', { class: 'mono' }, ...breakable(user || '(no user name)')),
        h('span', { class: 'quiet small' }, ` · review from ${origin}, answered by ${replica}`),
      ),
      message !== undefined && h('p', {}, ...breakable(message)),
      violations.length + violationsLeftOut > 0 &&
        h(
          'ul',
          { class: 'violations' },
          ...violations.map(({ outcome, result: came, audit, policyKind, policy, field: where, mode, subject }) =>
            h(
              'li',
              {},
              h('span', { class: `outcome is-${came}${audit ? ' is-trial' : ''}` }, outcome),
              ' ',
              h('span', { class: 'mono' }, ...breakable(subject)),
              h(
                'span',
                { class: 'quiet' },
                ` · ${policyKind} `,
                h('a', { href: hrefOf('policies', `${policyKind}/${policy}`) }, policy),
                `, ${where}, mode ${mode}`,
              ),
            ),
          ),
          violationsLeftOut > 0 && h('li', { class: 'quiet' }, `and ${number(violationsLeftOut)} more`),
        ),
      warnings.length > 0 &&
        h(
          'details',
          { class: 'quiet' },
          h('summary', {}, `${counted(warnings.length, 'warning')} to the user`),
          ...warnings.map((text) => h('p', {}, ...breakable(text))),
        ),
      ...changes.map(changeOf),
      changesLeftOut && h('p', { class: 'quiet' }, 'The patch was too large to be kept.'),
      unlisted > 0 &&
        h('p', { class: 'quiet' }, `Before it, ${number(unlisted)} more on requests of this user: only in the log.`),
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
