import { all, any, cel, choose, type Expression, FALSE, LIST_COST, not, TRUE } from '../cel/expression.ts';
import { EMPTY, isEmpty, isIn, those, together } from '../cel/lists.ts';
import { IS_NODE } from '../conditions/selection.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { NOTING, SPENDING } from './allow-removal.ts';
import { type Assembled, mutating } from './assemble.ts';
import type { Target } from './native-policy.ts';
import { changesTaints, type Guarding, REPAIR, reversion } from './node-guards.ts';
import { NODE_UPDATES } from './node-messages.ts';
import { puttingTaints } from './node-registration.ts';
import {
  ANNOUNCED,
  exemptedBy,
  isNamedIn,
  isProtectedByOthers,
  policyGroups,
  updateVariables,
} from './node-variables.ts';

/**
 * The mutation of an update. It restores taints that a Restore policy protects, and removes taints whose addition it restricts, unless a Deny policy
 * refuses the update. It also updates the annotation `allow-removal` for taints that this policy lets users remove and that no other policy keeps. It
 * does not patch a node's own update, because the API server would then refuse all of it.
 *
 * @param others the other policies that may protect a taint of this one
 */
export function restoration(
  guarding: Guarding,
  others: readonly CompiledTaintPolicy[],
  { purpose }: Target,
): Assembled[] {
  const { policy } = guarding;
  const { name, mode, allowsRemovalByAnnotation, removalRules } = policy;
  const keeps = removalRules.length > 0;
  const exempt = exemptedBy(policy);
  const holders = policyGroups(others);
  const denying = holders.filter((holder) => holder.mode === 'Deny');
  const restored =
    mode === 'Restore' && keeps
      ? those(
          'protected',
          all([
            not(exempt),
            allowsRemovalByAnnotation ? not(isIn('allowedByAnnotation')) : TRUE,
            not(isProtectedByOthers(denying, removalRules)),
          ]),
        )
      : EMPTY;
  const { reverted, stays, variables } = reversion(guarding);
  const leave = any([exempt, allowsRemovalByAnnotation ? isIn('allowedByAnnotation') : FALSE]);
  const gone = keeps
    ? those('protected', all([leave, not(isProtectedByOthers(holders, removalRules)), not(stays)]))
    : EMPTY;
  const reverts = reverted !== EMPTY;
  const put = reverts ? puttingTaints('repaired', 'put') : puttingTaints('after', 'restored');
  const bookkeeping = purpose === 'Alone' ? SPENDING : NOTING;
  const operations = [
    ...(restored === EMPTY && !reverts ? [] : [restore(put.operation, reverts)]),
    ...(gone === EMPTY ? [] : [bookkeeping.operations]),
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
      ...REPAIR,
      ...put.variables,
      { name: 'gone', definition: gone },
      ...bookkeeping.variables,
    ],
    reinvocationPolicy: 'IfNeeded',
    // The API server writes and reads the whole node for each mutation.
    mutations: [together(operations)],
  });
}

function restore(put: Expression, reverts: boolean): Expression {
  const isRight = all([isEmpty('restored'), ...(reverts ? [isEmpty('reverted')] : [])]);
  return choose(isRight, EMPTY, cel((size) => put.cost(size) + LIST_COST)`[${put}]`);
}
