import { formatTaint, taintIdentity, valuesAmong, withTaints } from '../../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { isEnforced, isOnTrial } from '../../policy/enforcement.ts';
import { enforcedPolicies } from '../../policy/policy-index.ts';
import { clearsEntriesAtRegistration } from '../allow-removal.ts';
import { allow, type Decision, type Judge, patch } from '../decision.ts';
import { type DeclaredTaint, missingOf, satisfies, taintsAtRegistration, taintsToSet } from '../declared-taints.ts';
import { type StartupBoot, setsTaintsAgain } from '../node-boot.ts';
import type { DesiredNode } from '../node-view.ts';
import { missingOutcome, type Outcome, onTrial } from '../outcomes.ts';
import { taintViolation } from '../violation.ts';
import { addedWarning, wouldAddWarning } from './added-warnings.ts';
import type { NodeCreation } from './node-request.ts';

/**
 * Judges the creation of a Node. The node gets its required and startup taints by all policies that are not in mode Audit. The user makes no
 * difference, because exemptions are for removals. The creation is denied only if the review is too large to parse (`too-large.ts`): a node
 * that cannot register does more harm than a node without a taint.
 */
export const judgeNodeCreation: Judge<NodeCreation, readonly CompiledTaintPolicy[], DesiredNode> = {
  mutate: mutateNewNode,
  validate: validateNewNode,
};

function mutateNewNode({ node }: NodeCreation, policies: readonly CompiledTaintPolicy[]): Decision<DesiredNode> {
  const declared = taintsAtRegistration(node.labels, policies);
  // Chosen from all declared taints, also the satisfied ones, because the first policy that names a value decides.
  const chosen = taintsToSet(declared.filter(({ policy }) => isEnforced(policy)));
  const additions = missingOf(chosen, node.taints);
  const taints = withTaints(
    node.taints,
    additions.map(({ taint }) => taint),
  );
  // No removal has been allowed on a new node, so its annotation is deleted. It stays if no policy clears it.
  const allowRemoval = policies.some(clearsEntriesAtRegistration) ? undefined : node.allowRemoval;
  const startupBoot = bootToRecord(node, policies);
  if (additions.length === 0 && allowRemoval === node.allowRemoval && startupBoot === undefined) return allow();

  const valueAfter = valuesAmong(
    taints,
    declared.map(({ taint }) => taint),
  );
  const added = missingOf(declared, node.taints)
    .filter((one) => isEnforced(one.policy) && satisfies(valueAfter, one))
    .map((one) => ({ ...one, taint: { ...one.taint, value: valueAfter.get(taintIdentity(one.taint)) } }));
  // The leader reports the removal of a startup taint. Recording each new node as well would cost two requests, and double the Events.
  const recorded = added.filter(({ ensure }) => ensure !== 'UntilReady');
  return patch(
    { taints, allowRemoval, ...(startupBoot === undefined ? {} : { startupBoot }) },
    recorded.map((one) => taintViolation(one.policy, one.field, one.taint, missingOutcome('Added'))),
    added.map(({ taint, policy }) => addedWarning(`TaintPolicy ${policy.name}`, `taint ${formatTaint(taint)}`)),
    { isRoutine: recorded.length === 0 && allowRemoval === node.allowRemoval },
  );
}

/** Only reports, because mutation has already set all taints that it can set. */
function validateNewNode({ node }: NodeCreation, policies: readonly CompiledTaintPolicy[]): Decision<never> {
  const missing = missingOf(taintsAtRegistration(node.labels, policies), node.taints);
  return allow(
    missing.map((one) => taintViolation(one.policy, one.field, one.taint, outcomeOf(one))),
    missing.map((one) => {
      const { taint, policy } = one;
      if (outcomeOf(one).audit) return wouldAddWarning(`TaintPolicy ${policy.name}`, `taint ${formatTaint(taint)}`);
      const mode = policy.mode === 'Audit' ? ', Audit' : '';
      return `TaintPolicy ${policy.name}${mode}: the node lacks taint ${formatTaint(taint)}`;
    }),
  );
}

/** The boot for which the node gets startup taints of `afterReboot: SetAgain`. Undefined if it gets none, or already names this boot. */
function bootToRecord(
  { labels, bootId, startupBoot }: NodeCreation['node'],
  policies: readonly CompiledTaintPolicy[],
): StartupBoot | undefined {
  if (bootId === undefined || (startupBoot?.bootId === bootId && startupBoot.setAt === undefined)) return undefined;
  return enforcedPolicies(policies, labels).some(setsTaintsAgain) ? { bootId } : undefined;
}

/** The outcome for a taint that is still missing after mutation. */
function outcomeOf({ policy }: DeclaredTaint): Outcome {
  if (isEnforced(policy)) return missingOutcome('Reported');
  return isOnTrial(policy) ? onTrial(missingOutcome('Added')) : missingOutcome('Audited');
}
