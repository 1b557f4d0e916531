import {
  all,
  any,
  choose,
  type Expression,
  FALSE,
  LIST_COST,
  not,
  other,
  TRUE,
  type Variable,
} from '../cel/expression.ts';
import { EMPTY, each, isEmpty, isIn, mapped, those, together } from '../cel/lists.ts';
import { annotationOf } from '../conditions/protection-changes.ts';
import { IS_NODE } from '../conditions/selection.ts';
import { DROPS_TAINTS, EXACT_NAME, IDENTITY } from '../conditions/taints.ts';
import { MAX_REMEMBERED, REMEMBERED_ANNOTATION } from '../judge/memory.ts';
import { RELEASE_ANNOTATION } from '../judge/release.ts';
import { type Assembled, mutating } from './assemble.ts';
import type { TranslationOptions } from './native-policy.ts';
import { NODE_UPDATES } from './node-messages.ts';
import { pathOf, RECORD, recordVariables, removalRecord } from './node-records.ts';
import { puttingTaints } from './node-registration.ts';
import {
  entriesOf,
  holdersOf,
  isHeldBy,
  isNamedIn,
  MAX_RELEASES,
  type NamedNodePolicy,
  type NodeSubject,
  SPLIT_COST,
} from './node-subject.ts';

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

/**
 * The mutation of an update: what a Restore policy protects is put back, unless a Deny policy holds it, so that the update is
 * refused and not mended; and of a taint that goes because this policy lets it, and that no other holds back, the release is spent and
 * the memory ends; under the webhook, a Present one that goes by exemption is recorded. What a node itself writes is not touched: the API server would refuse all of it.
 *
 * @param others the other policies that may hold a taint of this one
 */
export function restoration(
  policy: NodeSubject,
  others: readonly NamedNodePolicy[],
  { purpose }: TranslationOptions,
): Assembled[] {
  const { name, mode, releasable, exempt } = policy;
  const holders = holdersOf(others);
  const denying = holders.filter((holder) => holder.mode === 'Deny');
  const restored =
    mode === 'Restore'
      ? those(
          'protected',
          all([not(exempt), releasable ? not(isIn('released')) : TRUE, not(isHeldBy(denying, policy.taints))]),
        )
      : EMPTY;
  const leave = any([exempt, releasable ? isIn('released') : FALSE]);
  const gone = those('protected', all([leave, not(isHeldBy(holders, policy.taints))]));
  const put = puttingTaints('after', 'restored');
  // Where no leader puts anything back, nobody would read it, nor ever tidy it up.
  const record = purpose === 'Backstop' && gone !== EMPTY ? removalRecord(policy) : { variables: [], operations: [] };
  const operations = [
    ...(restored === EMPTY ? [] : [restore(put.operation, purpose)]),
    ...(gone === EMPTY ? [] : LEAVE_TAKEN),
    ...record.operations,
  ];
  if (operations.length === 0) return [];
  return mutating({
    name: `${name}.restore.taintkeeper.dev`,
    failurePolicy: 'Ignore',
    resourceRules: NODE_UPDATES,
    objectSelector: policy.nodeSelector,
    conditions: { 'drops-taints': DROPS_TAINTS, 'is-not-by-a-node': not(IS_NODE) },
    variables: [
      ...policy.variables,
      ...holders.flatMap(({ variables }) => variables),
      { name: 'released', definition: those('protected', isNamedIn('announced')) },
      { name: 'restored', definition: restored },
      ...put.variables,
      ...recordVariables(name),
      { name: 'gone', definition: gone },
      ...LEAVE_VARIABLES,
      ...record.variables,
    ],
    reinvocationPolicy: 'IfNeeded',
    // The API server writes and reads the whole node for each mutation.
    mutations: [together(operations)],
  });
}

function restore({ text, cost, uses }: Expression, purpose: TranslationOptions['purpose']): Expression {
  const operations =
    purpose === 'Alone'
      ? other(`[${text}]`, (size) => cost(size) + LIST_COST, uses)
      : other(`[${text}] +\n${RECORD.text}`, (size) => cost(size) + RECORD.cost(size) + LIST_COST, [
          ...uses,
          ...RECORD.uses,
        ]);
  return choose(isEmpty('restored'), EMPTY, operations);
}
