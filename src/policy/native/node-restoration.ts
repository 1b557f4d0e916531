import { annotationOf } from '../cel/annotations.ts';
import {
  all,
  any,
  choose,
  type Expression,
  FALSE,
  LIST_COST,
  literal,
  not,
  other,
  TRUE,
  type Variable,
} from '../cel/expression.ts';
import { EMPTY, each, isEmpty, isIn, mapped, those } from '../cel/lists.ts';
import { IS_NODE } from '../cel/requester.ts';
import { EXACT_NAME, IDENTITY, WRITTEN } from '../cel/taint-names.ts';
import { MAX_REMEMBERED, REMEMBERED_ANNOTATION } from '../memory.ts';
import { RELEASE_ANNOTATION } from '../release.ts';
import { type Assembled, mutating } from './assemble.ts';
import { NODE_UPDATES } from './node-protection.ts';
import {
  entriesOf,
  holdingVariables,
  isHeldBy,
  MAX_RELEASES,
  type NodeSubject,
  SPLIT_COST,
  TAINTS_CHANGE,
} from './node-subject.ts';
import { puttingTaints } from './put-taints.ts';
import { MAX_RESTORED_LENGTH, RESTORED_ANNOTATION, RESTORED_SEPARATOR } from './restored-annotation.ts';
import type { TranslationOptions } from './translate.ts';

/**
 * The mutation of an update: what a Restore policy protects is put back, unless a Deny policy holds it, so that the update is
 * refused and not mended; and of a taint that goes because this policy lets it, and that no other holds back, the release is spent and
 * the memory ends. What a node itself writes is not touched: the API server would refuse all of it.
 *
 * @param others the other policies that may hold a taint of this one
 */
export function restoration(
  policy: NodeSubject,
  others: readonly NodeSubject[],
  { purpose }: TranslationOptions,
): Assembled[] {
  const { name, mode, releasable, exempt } = policy;
  const denying = others.filter((other) => other.mode === 'Deny');
  const restored =
    mode === 'Restore'
      ? those('protected', all([not(exempt), releasable ? not(isIn('released')) : TRUE, not(isHeldBy(denying))]))
      : EMPTY;
  const leave = any([exempt, releasable ? isIn('released') : FALSE]);
  const gone = those('protected', all([leave, not(isHeldBy(others))]));
  const put = puttingTaints('after', 'restored');
  const mutations = [
    ...(restored === EMPTY ? [] : [restore(put.operation, purpose)]),
    ...(gone === EMPTY ? [] : [spend(), forget()]),
  ];
  if (mutations.length === 0) return [];
  return mutating({
    name: `${name}.restore.taintkeeper.dev`,
    failurePolicy: 'Ignore',
    resourceRules: NODE_UPDATES,
    conditions: { 'changes-taints': TAINTS_CHANGE, 'is-not-by-a-node': not(IS_NODE) },
    variables: [
      ...policy.variables,
      ...holdingVariables(others),
      { name: 'restored', definition: restored },
      ...put.variables,
      ...recordVariables(name),
      { name: 'gone', definition: gone },
      { name: 'goneIds', definition: each('gone', IDENTITY) },
      { name: 'goneNames', definition: names('gone') },
      ...RELEASE_VARIABLES,
      ...MEMORY_VARIABLES,
    ],
    reinvocationPolicy: 'IfNeeded',
    mutations,
  });
}

function names(list: string): Expression {
  return other(
    `${mapped(list, IDENTITY.text)} +\n${mapped(list, EXACT_NAME.text)}`,
    (size) => size * (IDENTITY.cost(size) + EXACT_NAME.cost(size) + 40) + 5,
    [list],
  );
}

function restore(operation: Expression, purpose: TranslationOptions['purpose']): Expression {
  const list = `[${operation.text}]`;
  const operations =
    purpose === 'Alone'
      ? other(list, (size) => operation.cost(size) + LIST_COST, operation.uses)
      : other(`${list} +\n${RECORD}`, (size) => operation.cost(size) + SPLIT_COST, [...operation.uses, 'record']);
  return choose(isEmpty('restored'), EMPTY, operations);
}

/** What was put back is written down for the webhook behind, which alone can tell the requester. */
const RECORD = `(has(object.metadata.annotations) ? [] : [JSONPatch{op: "add", path: "/metadata/annotations", value: {}}]) +
[JSONPatch{op: "add", value: record, path: ${pathOf(RESTORED_ANNOTATION)}}]`;

function recordVariables(policy: string): Variable[] {
  return [
    { name: 'recorded', definition: annotationOf('object', RESTORED_ANNOTATION) },
    {
      name: 'news',
      definition: other(
        `${mapped('restored', `${literal(`${policy} `)} + ${WRITTEN.text}`)}\n  .filter(e, !(e in recorded.split(", ")))`,
        (size) => size * (WRITTEN.cost(size) + 80 + 600) + SPLIT_COST,
        ['restored', 'recorded'],
      ),
    },
    {
      name: 'records',
      definition: other(
        `(news + (recorded == "" ? [] : [recorded])).join(${literal(RESTORED_SEPARATOR)})`,
        (size) => size * 120 + SPLIT_COST,
        ['recorded', 'news'],
      ),
    },
    {
      name: 'record',
      definition: other(
        `size(records) > ${MAX_RESTORED_LENGTH} ? records.substring(0, ${MAX_RESTORED_LENGTH}) : records`,
        MAX_RESTORED_LENGTH,
        ['records'],
      ),
    },
  ];
}

const RELEASE_VARIABLES: readonly Variable[] = [
  {
    name: 'unspent',
    definition: other('entries.filter(e, e != "" && !(e in goneNames))', (size) => MAX_RELEASES * (2 * size + 40), [
      'entries',
      'goneNames',
    ]),
  },
];

/** Takes the entries that name a gone taint out of the release annotation. */
function spend(): Expression {
  const path = pathOf(RELEASE_ANNOTATION);
  const spent = other('entries.exists(e, e in goneNames)', (size) => MAX_RELEASES * (2 * size + 12), [
    'entries',
    'goneNames',
  ]);
  return choose(
    not(spent),
    EMPTY,
    choose(
      isEmpty('unspent'),
      other(`[JSONPatch{op: "remove", path: ${path}}]`, 60),
      other(`[JSONPatch{op: "replace", path: ${path}, value: unspent.join(", ")}]`, SPLIT_COST, ['unspent']),
    ),
  );
}

/** One more than there should be: what is behind it, if anything, comes in one. */
const MAX_LISTED = MAX_REMEMBERED + 1;

const MEMORY_VARIABLES: readonly Variable[] = [
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

/** Takes the gone taints out of what is remembered of the node. */
function forget(): Expression {
  const path = pathOf(REMEMBERED_ANNOTATION);
  return choose(
    other('size(lasting) == size(memories)', 5, ['lasting', 'memories']),
    EMPTY,
    choose(
      isEmpty('lasting'),
      other(`[JSONPatch{op: "remove", path: ${path}}]`, 60),
      other(`[JSONPatch{op: "replace", path: ${path}, value: lasting.join(", ")}]`, SPLIT_COST, ['lasting']),
    ),
  );
}

/** Where in a node an annotation stands (RFC 6901). */
function pathOf(annotation: string): string {
  return literal(`/metadata/annotations/${annotation.replaceAll('~', '~0').replaceAll('/', '~1')}`);
}
