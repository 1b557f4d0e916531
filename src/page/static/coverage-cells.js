// @ts-check
/** @import { CoverageAnswer, CoverageMatrix, CoverageRow, NodeGroup } from '../state.ts' */
/** @import { Filters } from './hrefs.js' */

import { ANSWERS, answerName } from './coverage-words.js';
import { breakable, h, spoken } from './dom.js';
import { hrefOf } from './hrefs.js';
import { nodeLinks } from './node-links.js';
import { counted, number } from './words.js';

/** @type {CoverageAnswer} an index that leads nowhere */
const UNKNOWN = { kind: 'elsewhere', reasons: [] };

/**
 * @param {readonly NodeGroup[]} groups
 * @param {readonly string[]} names
 */
export function headOf(groups, names) {
  return [
    h('th', { scope: 'col', class: 'name' }, 'DaemonSet'),
    h('th', { scope: 'col', class: 'figure' }, 'Runs on'),
    h('th', { scope: 'col', class: 'figure' }, 'Kept off'),
    h('th', { scope: 'col', class: 'figure' }, 'Unavailable'),
    ...groups.map(({ count }, index) =>
      h(
        'th',
        { scope: 'col', class: 'group', title: names[index] },
        h('span', { class: 'upright' }, names[index]),
        spoken(', '),
        h('span', { class: 'quiet line' }, number(count)),
        spoken(count === 1 ? ' node' : ' nodes'),
      ),
    ),
  ];
}

/**
 * @param {CoverageMatrix} matrix
 * @param {number} index
 * @param {CoverageRow} row
 * @param {{ readonly shown: number; readonly chosen: boolean; readonly filters: Filters }} view
 */
export function rowOf({ answers }, index, { namespace, name, cells, runs, keptOff, unavailable, optsOut }, view) {
  const { shown, chosen, filters } = view;
  const object = `${namespace}/${name}`;
  const off = keptOff > 0 && !optsOut ? 'is-attention' : 'quiet';
  return h(
    'tr',
    chosen ? { class: 'chosen' } : {},
    h(
      'th',
      { scope: 'row', class: 'name mono' },
      h(
        'a',
        { href: hrefOf('coverage', object, filters), id: `daemonset-${object}`, 'aria-current': chosen && 'true' },
        h('span', { class: 'quiet' }, `${namespace}/`),
        name,
      ),
    ),
    h('td', { class: 'figure', tabindex: '-1' }, number(runs)),
    h('td', { class: `figure ${off}`, tabindex: '-1' }, number(keptOff)),
    h('td', { class: `figure ${unavailable > 0 ? 'bad' : 'quiet'}`, tabindex: '-1' }, number(unavailable)),
    ...cells.slice(0, shown).map((answer, column) => {
      const cell = answers[answer] ?? UNKNOWN;
      const { reasons } = cell;
      const kind = answerName(cell);
      const { sign, word } = ANSWERS[kind];
      const label = reasons.length > 0 ? `${word}: ${reasons.join('; ')}` : word;
      return h(
        'td',
        {
          class: `answer is-${kind}`,
          tabindex: '-1',
          id: `coverage-${index}-${column}`,
          'data-at': `${index}/${column}`,
          'aria-label': label,
        },
        sign,
      );
    }),
  );
}

/**
 * @param {NodeGroup} group
 * @param {string} name
 */
export function groupOf({ label, count, examples, taints }, name) {
  return h(
    'tr',
    {},
    h('th', { scope: 'row' }, name),
    h('td', { class: 'figure' }, number(count)),
    h('td', {}, label),
    h(
      'td',
      { class: 'mono' },
      taints.length === 0 ? h('span', { class: 'quiet' }, 'none') : '',
      ...taints.flatMap((taint) => [h('span', { class: 'line' }, ...breakable(taint))]),
    ),
    h('td', { class: 'mono quiet' }, ...nodeLinks(examples), count > examples.length && ', …'),
  );
}

/**
 * The state of a DaemonSet, in one sentence.
 * @param {CoverageRow} row
 */
export function summaryOf({ runs, keptOff, desired, unavailable, optsOut }) {
  const optOutNote = optsOut ? '; annotated as one that is to be left alone' : '';
  return `Runs on ${counted(runs, 'node')}, kept off ${number(keptOff)} by taints; ${number(unavailable)} of ${counted(desired, 'pod')} unavailable${optOutNote}`;
}
