import {
  all,
  any,
  cel,
  choose,
  type Expression,
  FALSE,
  LIST_COST,
  not,
  TRUE,
  type Variable,
} from '../cel/expression.ts';
import { EMPTY, each, isEmpty, isIn, those, together } from '../cel/lists.ts';
import { annotationOf } from '../conditions/node-update.ts';
import { IS_NODE } from '../conditions/selection.ts';
import { DROPS_TAINTS, EXACT_NAME, IDENTITY } from '../conditions/taints.ts';
import { MAX_REMEMBERED, REMEMBERED_ANNOTATION } from '../judge/memory.ts';
import { RELEASE_ANNOTATION } from '../judge/removal.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { type Assembled, mutating } from './assemble.ts';
import type { Target } from './native-policy.ts';
import { NODE_UPDATES } from './node-messages.ts';
import { pathOf, RECORD, recordVariables, removalRecord } from './node-records.ts';
import { puttingTaints } from './node-registration.ts';
import {
  ANNOUNCED,
  ENTRIES,
  entriesOf,
  exemptedBy,
  holdersOf,
  isHeldBy,
  isNamedIn,
  MAX_RELEASES,
  SPLIT_COST,
  updateVariables,
} from './node-variables.ts';

/** One more than there should be: what is behind it, if anything, comes in one. */
const MAX_LISTED = MAX_REMEMBERED + 1;

const GONE_IDS: Variable = { name: 'goneIds', definition: each('gone', IDENTITY) };
/** As the release annotation may name them. */
const GONE_NAMES: Variable = {
  name: 'goneNames',
  definition: together([each('gone', IDENTITY), each('gone', EXACT_NAME)]),
};
const UNSPENT: Variable = {
  name: 'unspent',
  definition: cel((size) => MAX_RELEASES * (2 * size + 40))`${ENTRIES}.filter(e, e != "" && !(e in ${GONE_NAMES}))`,
};
const REMEMBERED: Variable = { name: 'remembered', definition: annotationOf('object', REMEMBERED_ANNOTATION) };
const MEMORIES: Variable = { name: 'memories', definition: entriesOf(REMEMBERED, MAX_LISTED) };
const LASTING: Variable = {
  name: 'lasting',
  // An entry with its value taken out is what the taint goes by.
  definition: cel((size) => 4 * SPLIT_COST + MAX_LISTED * (size + 300))`${MEMORIES}.filter(e, !e.contains(":") ||
  !((e.split(":")[0].split("=")[0] + e.substring(e.lastIndexOf(":"))) in ${GONE_IDS}))`,
};

/** What {@link LEAVE_TAKEN} uses, of the taints that are `gone`. */
const LEAVE_VARIABLES: readonly Variable[] = [GONE_IDS, GONE_NAMES, UNSPENT, REMEMBERED, MEMORIES, LASTING];

/** Lists of operations by which taints that are `gone` with leave do so once, and for good: no release is left of them, and no memory. */
const LEAVE_TAKEN: readonly Expression[] = [
  choose(
    cel((size) => MAX_RELEASES * (2 * size + 12))`!${ENTRIES}.exists(e, e in ${GONE_NAMES})`,
    EMPTY,
    rewritten(RELEASE_ANNOTATION, UNSPENT),
  ),
  choose(cel(5)`size(${LASTING}) == size(${MEMORIES})`, EMPTY, rewritten(REMEMBERED_ANNOTATION, LASTING)),
];

/** The annotation with the entries that are left, or none for none. */
function rewritten(annotation: string, entries: Variable): Expression {
  const path = pathOf(annotation);
  return choose(
    isEmpty(entries.name),
    cel(60)`[JSONPatch{op: "remove", path: ${path}}]`,
    cel(SPLIT_COST)`[JSONPatch{op: "replace", path: ${path}, value: ${entries}.join(", ")}]`,
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
  policy: CompiledTaintPolicy,
  others: readonly CompiledTaintPolicy[],
  { purpose }: Target,
): Assembled[] {
  const { name, mode, releasable, rules } = policy;
  const exempt = exemptedBy(policy);
  const holders = holdersOf(others);
  const denying = holders.filter((holder) => holder.mode === 'Deny');
  const restored =
    mode === 'Restore'
      ? those('protected', all([not(exempt), releasable ? not(isIn('released')) : TRUE, not(isHeldBy(denying, rules))]))
      : EMPTY;
  const leave = any([exempt, releasable ? isIn('released') : FALSE]);
  const gone = those('protected', all([leave, not(isHeldBy(holders, rules))]));
  const put = puttingTaints('after', 'restored');
  // Where no leader puts anything back, nobody would read it, nor ever tidy it up.
  const record =
    purpose === 'Backstop' && gone !== EMPTY ? removalRecord(policy, exempt) : { variables: [], operations: [] };
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
      ...updateVariables(policy),
      ...holders.flatMap(({ binds }) => binds.variables),
      { name: 'released', definition: those('protected', isNamedIn(ANNOUNCED)) },
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

function restore(put: Expression, purpose: Target['purpose']): Expression {
  const operations =
    purpose === 'Alone'
      ? cel((size) => put.cost(size) + LIST_COST)`[${put}]`
      : cel((size) => put.cost(size) + RECORD.cost(size) + LIST_COST)`[${put}] +\n${RECORD}`;
  return choose(isEmpty('restored'), EMPTY, operations);
}
