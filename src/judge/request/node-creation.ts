import { formatTaint, identity, valuesAmong, withTaints } from '../../kubernetes/taint.ts';
import { enforcedPolicies } from '../../policy/policy-index.ts';
import type { CompiledTaintPolicy } from '../../policy/policy-set.ts';
import { readsAllowRemoval } from '../allow-removal.ts';
import { allow, type Decision, patch, taintViolation } from '../decision.ts';
import { type DeclaredTaint, isEnforcing, satisfies, taintsAtRegistration, taintsToSet } from '../declared-taints.ts';
import { type StartupBoot, setsTaintsAgain } from '../node-boot.ts';
import type { DesiredNode } from '../node-view.ts';
import * as outcomes from '../outcomes.ts';
import type { NodeCreation } from './node-request.ts';

/**
 * A node that registers gets its required and startup taints, whatever the policy's mode but Audit, and whatever the user: exemptions are about
 * removing taints. It is never refused: a node that cannot register costs more than one that lacks a taint.
 */
export function judgeNodeCreation(
  { phase, node }: NodeCreation,
  policies: readonly CompiledTaintPolicy[],
): Decision<DesiredNode> {
  const declared = taintsAtRegistration(node.labels, policies);
  const concerned = declared.map(({ taint }) => taint);
  const present = valuesAmong(node.taints, concerned);
  const missing = declared.filter((one) => !satisfies(present, one));

  if (phase === 'validate') {
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

  const enforced = declared.filter(isEnforcing);
  // Of all that declare the taint, also of those that are satisfied: their values count as well.
  const chosen = new Map(taintsToSet(enforced).map((one) => [identity(one.taint), one]));
  const additions = missing
    .filter(isEnforcing)
    .flatMap(({ taint }) => chosen.get(identity(taint)) ?? [])
    .filter((one) => !satisfies(present, one));
  const taints = withTaints(
    node.taints,
    additions.map(({ taint }) => taint),
  );
  // Nothing has been allowed on a new node, whatever it says. Policies that protect nothing have no say in that.
  const allowRemoval = policies.some(readsAllowRemoval) ? undefined : node.allowRemoval;
  const startupBoot = bootToRecord(node, policies);
  if (additions.length === 0 && allowRemoval === node.allowRemoval && startupBoot === undefined) return allow();

  const values = valuesAmong(taints, concerned);
  const added = missing
    .filter((one) => isEnforcing(one) && satisfies(values, one))
    .map((one) => ({ ...one, taint: { ...one.taint, value: values.get(identity(one.taint)) } }));
  return patch(
    { taints, allowRemoval, ...(startupBoot === undefined ? {} : { startupBoot }) },
    added.map((one) => taintViolation(one.policy, one.field, one.taint, outcomes.missing('Added'))),
    added.map(({ taint, policy }) => `TaintPolicy ${policy.name} added taint ${formatTaint(taint)}`),
  );
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
