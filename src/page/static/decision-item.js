// @ts-check
/** @import { DecidedChange, PageDecision } from '../state.ts' */

import { resultOf } from './decision-words.js';
import { diff } from './diff.js';
import { breakable, drawn, h, spoken } from './dom.js';
import { fixLine } from './fix-line.js';
import { hrefOf } from './hrefs.js';
import { counted, localTime, number } from './words.js';

/** @param {PageDecision} decision */
export function objectOf({ kind, namespace, name }) {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name || '(name to be generated)'}`;
}

/** @param {PageDecision} decision @returns {string | undefined} the address of the object on the page */
function objectHref({ kind, namespace, name }) {
  if (name === '') return undefined;
  return kind === 'Node' ? hrefOf('nodes', name) : hrefOf('coverage', `${namespace}/${name}`);
}

/**
 * @param {PageDecision} decision
 * @param {boolean} isLinked whether a tab shows the object
 */
export function articleOf(decision, isLinked) {
  const { time, operation, user, origin, violationsLeftOut, changes, changesLeftOut } = decision;
  const { id, unlisted, replica, message, warnings, violations } = decision;
  const { sign, word, name } = resultOf(decision);
  const href = isLinked ? objectHref(decision) : undefined;
  const object = breakable(objectOf(decision));
  const [day, clock = '', zone = ''] = localTime(time).split(' ');
  return h(
    'li',
    { class: `decision is-${name}`, 'data-day': day },
    h('time', { datetime: time, title: `${day} ${clock} ${zone}` }, h('span', { class: 'day' }, day), clock),
    h('span', { class: 'result' }, drawn(`${sign} `), word),
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
      ),
      ...denialOf(message, id),
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
      ...changes.map(changeOf),
      changesLeftOut && h('p', { class: 'quiet' }, 'The patch was too large to be kept.'),
      h(
        'details',
        { class: 'quiet' },
        h(
          'summary',
          {},
          warnings.length > 0 ? `Request, ${counted(warnings.length, 'warning')} to the user` : 'Request',
        ),
        h('p', {}, `Review from ${origin}, answered by ${replica}`),
        ...warnings.map((text) => h('p', {}, ...breakable(text))),
      ),
      unlisted > 0 &&
        h('p', { class: 'quiet' }, `Before it, ${number(unlisted)} more on requests of this user: only in the log.`),
    ),
  );
}

/**
 * Why a request was denied, and the command at the end of the message.
 * @param {string | undefined} message
 * @param {string} id of the decision
 */
function denialOf(message, id) {
  if (message === undefined) return [];
  const [, reason = message, note = '', command] = /^(.*[.)]) ([^.]*): (kubectl .*[^…])$/s.exec(message) ?? [];
  return [
    h('p', {}, ...breakable(reason)),
    command !== undefined && fixLine({ command, note: `${note}.` }, `decision-${id}`),
  ];
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
