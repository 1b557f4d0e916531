// @ts-check
/** @import { PageState, PolicyState } from '../state.ts' */
import { addressOf, amend } from './address.js';
import { byId, drawn, fill, h, signed, spoken } from './dom.js';
import { filters } from './filters.js';
import { hrefAt, hrefOf } from './hrefs.js';
import { counted, countedOf, localTime, number } from './words.js';

/** The panel of policies. */
export function policiesView() {
  const body = byId('policies-body');
  /** @type {Set<string>} */
  const open = new Set();
  /** @type {PageState | undefined} */
  let latest;
  /** The policy of the address is opened once, so that the user can close it. */
  let arrived = '';
  const inputs = filters('policies', { q: 'policies-filter' }, show);

  body.addEventListener('click', ({ target }) => {
    const button = target instanceof Element ? target.closest('button') : undefined;
    const id = button?.dataset.policy;
    if (id === undefined) return;
    const wasOpen = open.delete(id);
    if (!wasOpen) open.add(id);
    arrived = wasOpen ? '' : (button?.dataset.object ?? '');
    amend('policies', { object: arrived });
    show();
  });

  function show() {
    if (!latest) return;
    const { policies } = latest;
    const needle = (addressOf('policies').filters.q ?? '').trim().toLowerCase();
    const visible = policies.filter(({ kind, name, mode = '' }) =>
      `${kind} ${name} ${mode}`.toLowerCase().includes(needle),
    );
    const sorted = [...visible].sort((a, b) => rank(b) - rank(a));
    fill(body, [sorted, [...open]], () =>
      sorted.flatMap((policy) => {
        const id = idOf(policy);
        const row = rowOf(policy, id, open.has(id));
        return open.has(id) ? [row, detailsOf(policy, id)] : [row];
      }),
    );
    byId('policies-count').textContent = countedOf(visible.length, policies.length, 'policy', 'policies');
    byId('policies-none').hidden = visible.length > 0;
    byId('policies-none').textContent =
      policies.length === 0 ? 'There are no policies: nothing is protected.' : 'No policy matches.';
  }

  return {
    /** @param {PageState} state */
    show(state) {
      latest = state;
      inputs();
      const { object } = addressOf('policies');
      const isOther = object !== arrived;
      arrived = object;
      const policy = state.policies.find((one) => objectOf(one) === object);
      if (isOther && policy) open.add(idOf(policy));
      show();
      // The filter may hide it.
      if (isOther && policy) document.getElementById(idOf(policy))?.scrollIntoView({ block: 'nearest' });
    },
  };
}

/** @typedef {PolicyState['kind']} Kind */

/** What a policy selects. @param {Kind} kind */
const noun = (kind) => (kind === 'TaintPolicy' ? 'node' : 'DaemonSet');

/** What the violators of a policy are. @param {Kind} kind */
function violatorsTitle(kind) {
  if (kind === 'RecoveryPolicy') return 'Stuck pods';
  return kind === 'TaintPolicy' ? 'Taints missing on' : 'Tolerations missing on';
}

/** @param {PolicyState} policy */
const idOf = ({ kind, name }) => `policy-${kind}-${name}`;

/** @param {PolicyState} policy @returns {string} its name in addresses */
const objectOf = ({ kind, name }) => `${kind}/${name}`;

/** @param {PolicyState} policy @returns {number} the severity */
function rank({ summary: { level } }) {
  return level === 'failed' ? 2 : level === 'attention' ? 1 : 0;
}

/**
 * @param {PolicyState} policy
 * @param {string} id
 * @param {boolean} expanded
 */
function rowOf(policy, id, expanded) {
  const { kind, name, mode, matched, violating, summary } = policy;
  const { level, word, why } = summary;
  return h(
    'tr',
    {},
    h(
      'th',
      { scope: 'row' },
      h(
        'button',
        {
          type: 'button',
          class: 'plain disclose',
          id,
          'data-policy': id,
          'data-object': objectOf(policy),
          'aria-expanded': String(expanded),
          'aria-controls': expanded ? `${id}-details` : undefined,
        },
        h('span', { class: 'mono' }, name),
        spoken('(details)'),
      ),
      h('span', { class: 'quiet line' }, kind),
    ),
    h('td', { class: 'mode' }, mode ?? '–'),
    h('td', {}, signed(level, word), why !== '' && h('span', { class: 'line' }, why)),
    h('td', { class: 'figure' }, matched === undefined ? unknown() : counted(matched, noun(kind))),
    h(
      'td',
      { class: 'figure' },
      violating === undefined ? unknown() : violating === 0 ? '0' : countOf(kind, name, violating),
    ),
  );
}

/**
 * @param {PolicyState['kind']} kind
 * @param {string} name
 * @param {number} violating
 */
function countOf(kind, name, violating) {
  const count = h('strong', { class: 'bad' }, number(violating));
  if (kind !== 'TaintPolicy') return count;
  return h('a', { href: hrefOf('nodes', '', { show: 'problem', policy: name }) }, count, spoken(': the list'));
}

function unknown() {
  return h('span', { class: 'quiet' }, drawn('–'), spoken('not known here'));
}

/**
 * @param {PolicyState} policy
 * @param {string} id
 */
function detailsOf({ kind, spec, conditions, violators, violating = 0, problems }, id) {
  return h(
    'tr',
    { class: 'details', id: `${id}-details` },
    h(
      'td',
      { colspan: '5' },
      h(
        'div',
        { class: 'columns' },
        h(
          'div',
          {},
          ...list('Problems', problems),
          ...list(
            `${violatorsTitle(kind)} (${number(violating)})`,
            violators.map(({ text, place }) =>
              place === undefined
                ? h('span', { class: 'mono' }, text)
                : h('a', { class: 'mono', href: hrefAt(place) }, text),
            ),
          ),
          ...list(
            'Conditions',
            conditions.map(
              ({ type, status, message, since }) => `${type} ${status} since ${localTime(since)}: ${message}`,
            ),
          ),
          problems.length + violators.length + conditions.length === 0 &&
            h('p', { class: 'quiet' }, 'Nothing else is known of it here.'),
        ),
        spec !== '' &&
          h(
            'div',
            {},
            h('h3', {}, 'spec'),
            h('pre', { tabindex: '0', role: 'region', 'aria-label': 'spec of the policy' }, spec),
          ),
      ),
    ),
  );
}

/**
 * @param {string} title
 * @param {readonly (string | HTMLElement)[]} items
 */
function list(title, items) {
  return items.length === 0 ? [] : [h('h3', {}, title), h('ul', {}, ...items.map((item) => h('li', {}, item)))];
}
