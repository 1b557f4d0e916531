import { all, any, choose, type Expression, FALSE, LIST_COST, not, other, TRUE } from '../cel/expression.ts';
import { EMPTY, isEmpty, isIn, those, together } from '../cel/lists.ts';
import { IS_NODE } from '../cel/requester.ts';
import { type Assembled, mutating } from './assemble.ts';
import { holdersOf, isHeldBy } from './node-holders.ts';
import { NODE_UPDATES } from './node-protection.ts';
import { DROPS_TAINTS, isNamedIn, type NamedNodePolicy, type NodeSubject } from './node-subject.ts';
import { puttingTaints } from './put-taints.ts';
import { removalRecord } from './removal-record.ts';
import { RECORD, recordVariables } from './restored-record.ts';
import { LEAVE_TAKEN, LEAVE_VARIABLES } from './taken-leave.ts';
import type { TranslationOptions } from './translate.ts';

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
