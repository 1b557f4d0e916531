import { formatTaint, identity, valuesAmong, withTaints } from '../../kubernetes/taint.ts';
import { enforcedPolicies } from '../../policy/policy-index.ts';
import type { CompiledTaintPolicy } from '../../policy/policy-set.ts';
import { readsAllowRemoval } from '../allow-removal.ts';
import { allow, type Decision, type Judge, patch, taintViolation } from '../decision.ts';
import {
  type DeclaredTaint,
  isEnforcing,
  isStartupTaint,
  satisfies,
  taintsAtRegistration,
  taintsToSet,
} from '../declared-taints.ts';
import { type StartupBoot, setsTaintsAgain } from '../node-boot.ts';
import type { DesiredNode } from '../node-view.ts';
import * as outcomes from '../outcomes.ts';
import type { NodeCreation } from './node-request.ts';

/**
 * A node that registers gets its required and startup taints, whatever the policy's mode but Audit, and whatever the user: exemptions are about
 * removing taints. It is not refused here, only if it is too large to read: a node that cannot register costs more than one that lacks a taint.
 */
export const judgeNodeCreation: Judge<NodeCreation, readonly CompiledTaintPolicy[], DesiredNode> = {
  mutate: mutateNewNode,
  validate: validateNewNode,
};

function mutateNewNode({ node }: NodeCreation, policies: readonly CompiledTaintPolicy[]): Decision<DesiredNode> {
  const { declared, present, missing } = registrationOf(node, policies);
  // Of all that declare the taint, also of those that are satisfied: their values count as well.
  const additions = taintsToSet(declared.filter(isEnforcing)).filter((one) => !satisfies(present, one));
  const taints = withTaints(
    node.taints,
    additions.map(({ taint }) => taint),
  );
  // Nothing has been allowed on a new node, whatever it says. Policies that protect nothing have no say in that.
  const allowRemoval = policies.some(readsAllowRemoval) ? undefined : node.allowRemoval;
  const startupBoot = bootToRecord(node, policies);
  if (additions.length === 0 && allowRemoval === node.allowRemoval && startupBoot === undefined) return allow();

  const values = valuesAmong(
    taints,
    declared.map(({ taint }) => taint),
  );
  const added = missing
    .filter((one) => isEnforcing(one) && satisfies(values, one))
    .map((one) => ({ ...one, taint: { ...one.taint, value: values.get(identity(one.taint)) } }));
  // The leader reports the removal of a startup taint. A record of each new node would cost two requests, and half of the Events.
  const recorded = added.filter((one) => !isStartupTaint(one));
  return patch(
    { taints, allowRemoval, ...(startupBoot === undefined ? {} : { startupBoot }) },
    recorded.map((one) => taintViolation(one.policy, one.field, one.taint, outcomes.missing('Added'))),
    added.map(({ taint, policy }) => `TaintPolicy ${policy.name} added taint ${formatTaint(taint)}`),
    { isRoutine: recorded.length === 0 && allowRemoval === node.allowRemoval },
  );
}

/** Only reports. Mutation has set what it can. */
function validateNewNode({ node }: NodeCreation, policies: readonly CompiledTaintPolicy[]): Decision<never> {
  const { missing } = registrationOf(node, policies);
  return allow(
    missing.map((one) => taintViolation(one.policy, one.field, one.taint, outcomeOf(one))),
    missing.map((one) => {
      const { taint, policy } = one;
      if (outcomeOf(one).audit) return `TaintPolicy ${policy.name} would add taint ${formatTaint(taint)} (--audit)`;
      const mode = policy.mode === 'Audit' ? ', Audit' : '';
      return `TaintPolicy ${policy.name}${mode}: the node lacks taint ${formatTaint(taint)}`;
    }),
  );
}

/** The taints that policies set on a node when it registers, which of them it carries by now, and which it lacks. */
function registrationOf({ labels, taints }: NodeCreation['node'], policies: readonly CompiledTaintPolicy[]) {
  const declared = taintsAtRegistration(labels, policies);
  const present = valuesAmong(
    taints,
    declared.map(({ taint }) => taint),
  );
  return { declared, present, missing: declared.filter((one) => !satisfies(present, one)) };
}

/** The boot for which the node gets startup taints of `afterReboot: SetAgain`. Undefined if it gets none, or says so already. */
function bootToRecord(
  { labels, bootId, startupBoot }: NodeCreation['node'],
  policies: readonly CompiledTaintPolicy[],
): StartupBoot | undefined {
  if (bootId === undefined || (startupBoot?.bootId === bootId && startupBoot.setAt === undefined)) return undefined;
  return enforcedPolicies(policies, labels).some(setsTaintsAgain) ? { bootId } : undefined;
}

/** What is said of a taint that the node still lacks once mutation is over. */
function outcomeOf({ policy }: DeclaredTaint): outcomes.Outcome {
  if (policy.mode !== 'Audit') return outcomes.missing('Reported');
  return policy.declared === 'Audit' ? outcomes.missing('Audited') : outcomes.onTrial(outcomes.missing('Added'));
}
