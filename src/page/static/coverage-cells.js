// @ts-check
/** @import { CoverageAnswer, CoverageMatrix, CoverageRow, NodeGroup } from '../state.ts' */
import { breakable, h, spoken } from './dom.js';
import { number } from './words.js';

/** @type {Record<CoverageAnswer['kind'] | 'passing', { sign: string; word: string }>} */
export const ANSWERS = {
  runs: { sign: '●', word: 'runs' },
  tainted: { sign: '✕', word: 'kept off by taints' },
  stays: { sign: '◐', word: 'kept off by taints, but a pod that is there stays' },
  passing: { sign: '◌', word: 'kept off for the moment, by taints that pass' },
  elsewhere: { sign: '·', word: 'meant for other nodes' },
};

/** @type {CoverageAnswer} an index that leads nowhere */
const UNKNOWN = { kind: 'elsewhere', reasons: [] };

/** @param {CoverageAnswer} answer */
export const lookOf = ({ kind, passing }) => (passing ? 'passing' : kind);

/** @param {number} index @returns {string} A to Z, then AA, AB … */
export function code(index) {
  const letter = String.fromCharCode(65 + (index % 26));
  return index < 26 ? letter : code(Math.floor(index / 26) - 1) + letter;
}

/** @param {readonly NodeGroup[]} groups */
export function headOf(groups) {
  return [
    h('th', { scope: 'col', class: 'name' }, 'DaemonSet'),
    h('th', { scope: 'col', class: 'figure' }, 'Runs on'),
    h('th', { scope: 'col', class: 'figure' }, 'Unavailable'),
    ...groups.map(({ label, count }, index) =>
      h(
        'th',
        { scope: 'col', class: 'group', title: label },
        code(index),
        spoken(`, ${label},`),
        h('span', { class: 'quiet line' }, number(count)),
        spoken(' nodes'),
      ),
    ),
  ];
}

/**
 * @param {CoverageMatrix} matrix
 * @param {number} index
 * @param {CoverageRow} row
 * @param {number} shown
 */
export function rowOf({ answers }, index, { namespace, name, cells, runs, unavailable }, shown) {
  return h(
    'tr',
    {},
    h('th', { scope: 'row', class: 'name mono' }, h('span', { class: 'quiet' }, `${namespace}/`), name),
    h('td', { class: 'figure', tabindex: '-1' }, number(runs)),
    h('td', { class: `figure ${unavailable > 0 ? 'bad' : 'quiet'}`, tabindex: '-1' }, number(unavailable)),
    ...cells.slice(0, shown).map((answer, column) => {
      const found = answers[answer] ?? UNKNOWN;
      const { reasons } = found;
      const look = lookOf(found);
      const { sign, word } = ANSWERS[look];
      const label = reasons.length > 0 ? `${word}: ${reasons.join('; ')}` : word;
      return h(
        'td',
        {
          class: `answer is-${look}`,
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
 * @param {number} index
 */
export function groupOf({ label, count, examples, taints }, index) {
  return h(
    'tr',
    {},
    h('th', { scope: 'row' }, code(index)),
    h('td', { class: 'figure' }, number(count)),
    h('td', {}, label),
    h(
      'td',
      { class: 'mono' },
      taints.length === 0 ? h('span', { class: 'quiet' }, 'none') : '',
      ...taints.flatMap((taint) => [h('span', { class: 'line' }, ...breakable(taint))]),
    ),
    h('td', { class: 'mono quiet' }, examples.join(', ') + (count > examples.length ? ', …' : '')),
  );
}
