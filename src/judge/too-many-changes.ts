import { atMost } from '../kubernetes/text.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { allow, type Decision, deny, type Violation } from './decision.ts';
import type { TooManyChanges } from './node-changes.ts';
import { reportAllowed } from './node-update-reports.ts';
import { validateNode } from './node-validation.ts';
import type { NodeUpdate } from './node-view.ts';
import type { Outcome } from './outcomes.ts';
import { isEnforcing, type Rulings } from './rulings.ts';
import { isForbiddenUnselection, unselections } from './unselections.ts';

// An update of more taints than are compared with the rules is denied if a policy in force may restrict a change of them: none of the removed
// taints is judged if the added ones are too many, nor the other way round. Labels and the annotation are judged as in every update.

/** Policies that a message names. */
const MAX_NAMED = 8;

/** No change of taints is judged. */
const NO_RULINGS: Rulings = { removals: [], additions: [] };

/** Reports what the update allows by its labels and by the annotation. It changes nothing. */
export function mutateTooManyChanges(
  request: NodeUpdate,
  changes: TooManyChanges,
  policies: readonly CompiledTaintPolicy[],
): Decision<never> {
  const { removing, adding } = restrictingPolicies(request, changes, policies);
  const unselected = unselections(request, policies);
  // Validation denies the request, and reports it.
  if (removing.length + adding.length > 0 || unselected.some(isForbiddenUnselection)) return allow();
  return reportAllowed(request, NO_RULINGS, unselected, policies);
}

export function validateTooManyChanges(
  request: NodeUpdate,
  changes: TooManyChanges,
  policies: readonly CompiledTaintPolicy[],
): Decision<never> {
  const { what, limit, mayRemove, mayAdd } = changes;
  const { name } = request.node;
  const { removing, adding } = restrictingPolicies(request, changes, policies);
  if (removing.length + adding.length === 0) {
    const decision = validateNode(request, NO_RULINGS, policies);
    return { ...decision, warnings: [...decision.warnings, `node ${name}: ${what}; ${limit}`] };
  }
  const refusing = (found: readonly CompiledTaintPolicy[], outcome: Outcome, count: number) =>
    found.map(({ name: policy, mode }): Violation => {
      const subject = count === 1 ? '1 taint' : `${count} taints`;
      return { policyKind: 'TaintPolicy', policy, field: 'spec.taints', mode, outcome, subject };
    });
  const names = atMost(
    MAX_NAMED,
    [...new Set([...removing, ...adding])].map((policy) => `"${policy.name}"`),
  );
  return deny(
    `node ${name}: ${what}, and ${limit} where a TaintPolicy restricts changes of taints: ${names.join(', ')}. ` +
      'Change fewer taints in one update, or delete the node and register it again.',
    [...refusing(removing, 'denied', mayRemove), ...refusing(adding, 'addition-denied', mayAdd)],
  );
}

/** The policies in force that may restrict a change. */
function restrictingPolicies(
  { requester }: NodeUpdate,
  { mayRemove, mayAdd }: TooManyChanges,
  policies: readonly CompiledTaintPolicy[],
) {
  const enforced = policies.filter((policy) => isEnforcing({ policy }) && !policy.exempts(requester));
  return {
    removing: mayRemove > 0 ? enforced.filter(({ removalRules }) => removalRules.length > 0) : [],
    adding: mayAdd > 0 ? enforced.filter(({ additionRules }) => additionRules.length > 0) : [],
  };
}
