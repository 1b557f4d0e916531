import {
  all,
  any,
  cel,
  choose,
  type Expression,
  FALSE,
  LIST_COST,
  not,
  reference,
  TRUE,
  type Variable,
} from '../cel/expression.ts';
import { EMPTY, each, isEmpty, isIn, those, together } from '../cel/lists.ts';
import { annotationOf } from '../conditions/node-update.ts';
import { IS_NODE } from '../conditions/selection.ts';
import { EXACT_NAME, FORMATTED, IDENTITY } from '../conditions/taints.ts';
import { MAX_REMEMBERED, REMEMBERED_ANNOTATION } from '../judge/memory.ts';
import { ALLOW_REMOVAL_ANNOTATION } from '../judge/removal.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { type Assembled, mutating } from './assemble.ts';
import type { Target } from './native-policy.ts';
import { changesTaints, type Guarding, MENDING, reversion } from './node-guards.ts';
import { NODE_UPDATES } from './node-messages.ts';
import { pathOf, RECORD, recordVariables, removalRecord } from './node-records.ts';
import { puttingTaints } from './node-registration.ts';
import {
  ANNOUNCED,
  ENTRIES,
  entriesOf,
  exemptedBy,
  holdersOf,
  isHeldBackBy,
  isNamedIn,
  MAX_ALLOWED_REMOVALS,
  SPLIT_COST,
  updateVariables,
} from './node-variables.ts';

/** One more than there should be: what is behind it, if anything, comes in one. */
const MAX_LISTED = MAX_REMEMBERED + 1;

const GONE_IDS: Variable = { name: 'goneIds', definition: each('gone', IDENTITY) };
/** As the allow-removal annotation may name them. */
const GONE_NAMES: Variable = {
  name: 'goneNames',
  definition: together([each('gone', IDENTITY), each('gone', EXACT_NAME)]),
};
const UNSPENT: Variable = {
  name: 'unspent',
  definition: cel(
    (size) => MAX_ALLOWED_REMOVALS * (2 * size + 40),
  )`${ENTRIES}.filter(e, e != "" && !(e in ${GONE_NAMES}))`,
};
const REMEMBERED: Variable = { name: 'remembered', definition: annotationOf('object', REMEMBERED_ANNOTATION) };
const MEMORIES: Variable = { name: 'memories', definition: entriesOf(REMEMBERED, MAX_LISTED) };
/** What is not let in. */
const REJECTED_NAMES: Variable = { name: 'rejectedNames', definition: each('rejected', FORMATTED) };
// An entry with its value taken out is what the taint goes by.
const IS_NOT_GONE = cel(SPLIT_COST / MAX_LISTED + 300)`!e.contains(":") ||
  !((e.split(":")[0].split("=")[0] + e.substring(e.lastIndexOf(":"))) in ${GONE_IDS})`;

/** What stays in the memory. */
function lasting(rejects: boolean): Variable {
  const cost = (size: number) => 4 * SPLIT_COST + MAX_LISTED * (2 * size + 300);
  return {
    name: 'lasting',
    definition: rejects
      ? cel(cost)`${MEMORIES}.filter(e, !(e in ${REJECTED_NAMES}) && (${IS_NOT_GONE}))`
      : cel(cost)`${MEMORIES}.filter(e, ${IS_NOT_GONE})`,
  };
}

/** What {@link LEAVE_TAKEN} uses, of the taints that are `gone`, and with some that are `rejected`, of those. */
function leaveVariables(rejects: boolean): Variable[] {
  return [GONE_IDS, GONE_NAMES, UNSPENT, REMEMBERED, MEMORIES, REJECTED_NAMES, lasting(rejects)];
}

/** Operations by which taints that are `gone` with leave do so once: no release is left of them. */
const ALLOWED_REMOVALS_SPENT: Expression = choose(
  cel((size) => MAX_ALLOWED_REMOVALS * (2 * size + 12))`!${ENTRIES}.exists(e, e in ${GONE_NAMES})`,
  EMPTY,
  rewritten(ALLOW_REMOVAL_ANNOTATION, UNSPENT.name),
);
/** And for good: no memory either. */
const FORGOTTEN: Expression = choose(
  cel(5)`size(${reference('lasting')}) == size(${MEMORIES})`,
  EMPTY,
  rewritten(REMEMBERED_ANNOTATION, 'lasting'),
);

/** The annotation with the entries that are left, or none for none. */
function rewritten(annotation: string, entries: string): Expression {
  const path = pathOf(annotation);
  return choose(
    isEmpty(entries),
    cel(60)`[JSONPatch{op: "remove", path: ${path}}]`,
    cel(SPLIT_COST)`[JSONPatch{op: "replace", path: ${path}, value: ${reference(entries)}.join(", ")}]`,
  );
}

/**
 * The mutation of an update: what a Restore policy protects is put back, and what it guards is taken out, unless a Deny policy objects, so
 * that the update is refused and not mended; and of a taint that goes because this policy lets it, and that no other holds back, the
 * release is spent and the memory ends; under the webhook, a Present one that goes by exemption is recorded. What a node itself writes is not
 * touched: the API server would refuse all of it.
 *
 * @param others the other policies that may hold a taint of this one
 */
export function restoration(
  guarding: Guarding,
  others: readonly CompiledTaintPolicy[],
  { purpose }: Target,
): Assembled[] {
  const { policy } = guarding;
  const { name, mode, removableByAnnotation, rules } = policy;
  const exempt = exemptedBy(policy);
  const holders = holdersOf(others);
  const denying = holders.filter((holder) => holder.mode === 'Deny');
  const restored =
    mode === 'Restore'
      ? those(
          'protected',
          all([
            not(exempt),
            removableByAnnotation ? not(isIn('allowedByAnnotation')) : TRUE,
            not(isHeldBackBy(denying, rules)),
          ]),
        )
      : EMPTY;
  const { reverted, rejected, stays, variables } = reversion(guarding);
  const leave = any([exempt, removableByAnnotation ? isIn('allowedByAnnotation') : FALSE]);
  const gone = those('protected', all([leave, not(isHeldBackBy(holders, rules)), not(stays)]));
  const reverts = reverted !== EMPTY;
  const put = reverts ? puttingTaints('mended', 'put') : puttingTaints('after', 'restored');
  // Where no leader puts anything back, nobody would read it, nor ever tidy it up.
  const record =
    purpose === 'Backstop' && gone !== EMPTY ? removalRecord(policy, exempt) : { variables: [], operations: [] };
  const operations = [
    ...(restored === EMPTY && !reverts ? [] : [restore(put.operation, reverts, purpose)]),
    ...(gone === EMPTY ? [] : [ALLOWED_REMOVALS_SPENT]),
    ...(gone === EMPTY && rejected === EMPTY ? [] : [FORGOTTEN]),
    ...record.operations,
  ];
  if (operations.length === 0) return [];
  return mutating({
    name: `${name}.restore.taintkeeper.dev`,
    failurePolicy: 'Ignore',
    resourceRules: NODE_UPDATES,
    objectSelector: policy.nodeSelector,
    conditions: { ...changesTaints(policy), 'is-not-by-a-node': not(IS_NODE) },
    variables: [
      ...updateVariables(policy),
      ...holders.flatMap(({ binds }) => binds.variables),
      { name: 'allowedByAnnotation', definition: those('protected', isNamedIn(ANNOUNCED)) },
      { name: 'restored', definition: restored },
      ...variables,
      { name: 'reverted', definition: reverted },
      ...MENDING,
      ...put.variables,
      ...recordVariables(name, reverts),
      { name: 'gone', definition: gone },
      { name: 'rejected', definition: rejected },
      ...leaveVariables(rejected !== EMPTY),
      ...(reverts ? [{ name: 'afterIds', definition: each('after', IDENTITY) }] : []),
      ...record.variables,
    ],
    reinvocationPolicy: 'IfNeeded',
    // The API server writes and reads the whole node for each mutation.
    mutations: [together(operations)],
  });
}

function restore(put: Expression, reverts: boolean, purpose: Target['purpose']): Expression {
  const operations =
    purpose === 'Alone'
      ? cel((size) => put.cost(size) + LIST_COST)`[${put}]`
      : cel((size) => put.cost(size) + RECORD.cost(size) + LIST_COST)`[${put}] +\n${RECORD}`;
  const isRight = all([isEmpty('restored'), ...(reverts ? [isEmpty('reverted')] : [])]);
  return choose(isRight, EMPTY, operations);
}
