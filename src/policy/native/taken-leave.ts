import { annotationOf } from '../cel/annotations.ts';
import { choose, type Expression, not, other, type Variable } from '../cel/expression.ts';
import { EMPTY, each, isEmpty, mapped } from '../cel/lists.ts';
import { EXACT_NAME, IDENTITY } from '../cel/taint-names.ts';
import { MAX_REMEMBERED, REMEMBERED_ANNOTATION } from '../memory.ts';
import { RELEASE_ANNOTATION } from '../release.ts';
import { pathOf } from './annotation-path.ts';
import { entriesOf, MAX_RELEASES, SPLIT_COST } from './node-subject.ts';

/** One more than there should be: what is behind it, if anything, comes in one. */
const MAX_LISTED = MAX_REMEMBERED + 1;

/** What {@link LEAVE_TAKEN} uses, of the taints that are `gone`. */
export const LEAVE_VARIABLES: readonly Variable[] = [
  { name: 'goneIds', definition: each('gone', IDENTITY) },
  { name: 'goneNames', definition: namesOf('gone') },
  {
    name: 'unspent',
    definition: other('entries.filter(e, e != "" && !(e in goneNames))', (size) => MAX_RELEASES * (2 * size + 40), [
      'entries',
      'goneNames',
    ]),
  },
  { name: 'remembered', definition: annotationOf('object', REMEMBERED_ANNOTATION) },
  { name: 'memories', definition: entriesOf('remembered', MAX_LISTED) },
  {
    name: 'lasting',
    // An entry with its value taken out is what the taint goes by.
    definition: other(
      `memories.filter(e, !e.contains(":") ||
  !((e.split(":")[0].split("=")[0] + e.substring(e.lastIndexOf(":"))) in goneIds))`,
      (size) => 4 * SPLIT_COST + MAX_LISTED * (size + 300),
      ['memories', 'goneIds'],
    ),
  },
];

/** Lists of operations by which taints that are `gone` with leave do so once, and for good: no release is left of them, and no memory. */
export const LEAVE_TAKEN: readonly Expression[] = [
  choose(
    not(other('entries.exists(e, e in goneNames)', (size) => MAX_RELEASES * (2 * size + 12), ['entries', 'goneNames'])),
    EMPTY,
    rewritten(RELEASE_ANNOTATION, 'unspent'),
  ),
  choose(
    other('size(lasting) == size(memories)', 5, ['lasting', 'memories']),
    EMPTY,
    rewritten(REMEMBERED_ANNOTATION, 'lasting'),
  ),
];

/** The annotation with the entries that are left, or none for none. */
function rewritten(annotation: string, entries: string): Expression {
  const path = pathOf(annotation);
  return choose(
    isEmpty(entries),
    other(`[JSONPatch{op: "remove", path: ${path}}]`, 60),
    other(`[JSONPatch{op: "replace", path: ${path}, value: ${entries}.join(", ")}]`, SPLIT_COST, [entries]),
  );
}

/** As the release annotation may name them. */
function namesOf(list: string): Expression {
  return other(
    `${mapped(list, IDENTITY.text)} +\n${mapped(list, EXACT_NAME.text)}`,
    (size) => size * (IDENTITY.cost(size) + EXACT_NAME.cost(size) + 40) + 5,
    [list],
  );
}
