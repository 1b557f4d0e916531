import { formatTaint } from '../kubernetes/taint.ts';
import { atMost } from '../kubernetes/text.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { allow, type Decision, deny, taintViolation, type Violation } from './decision.ts';
import type { TooManyChanges } from './node-changes.ts';
import { auditWarnings, policyNames, refusal, reportUnselection, violationsOf } from './node-update-reports.ts';
import type { NodeUpdate } from './node-view.ts';
import type { Outcome } from './outcomes.ts';
import { effectiveAdditions, isAuditOnly, isForbidden, type Rulings } from './rulings.ts';
import { isForbiddenUnselection, unselections } from './unselections.ts';

/** Policies that a message names. */
const MAX_NAMED = 8;

/** What validation decides on an update, after mutation: see {@link judgeNodeUpdate}. */
export function validateNode(
  request: NodeUpdate,
  { removals, additions }: Rulings,
  policies: readonly CompiledTaintPolicy[],
): Decision<never> {
  const deniedRemovals = removals.filter(isForbidden);
  const effective = effectiveAdditions(additions, removals);
  const deniedAdditions = effective.filter(isForbidden);
  const unselected = unselections(request, policies);
  const deniedUnselections = unselected.filter(isForbiddenUnselection);
  if (deniedRemovals.length + deniedAdditions.length + deniedUnselections.length > 0) {
    return deny(refusal(request, { deniedRemovals, deniedAdditions, deniedUnselections }), [
      ...deniedRemovals.flatMap((ruling) => violationsOf(ruling, ruling.by, 'denied')),
      ...deniedAdditions.flatMap((ruling) => violationsOf(ruling, ruling.by, 'addition-denied')),
      ...deniedUnselections.map(({ policy, field, taint }) =>
        taintViolation(policy, field, taint, 'unselection-denied'),
      ),
    ]);
  }
  const allowed = removals.filter((ruling) => ruling.allowed.length > 0);
  const audited = removals.filter(({ mode }) => mode === 'Audit');
  const added = effective.filter(({ mode }) => mode === 'Audit');
  const reported = unselected.filter(isAuditOnly).map(reportUnselection);
  return allow(
    [
      ...audited.flatMap((ruling) => violationsOf(ruling, ruling.by, 'audited')),
      ...allowed.flatMap((ruling) => violationsOf(ruling, ruling.allowed, 'allowed-by-annotation')),
      ...removals.flatMap((ruling) => violationsOf(ruling, ruling.exempt.filter(isAuditOnly), 'exempt')),
      ...added.flatMap((ruling) => violationsOf(ruling, ruling.by, 'addition-audited')),
      ...effective.flatMap((ruling) => violationsOf(ruling, ruling.exempt.filter(isAuditOnly), 'addition-exempt')),
      ...reported.flatMap(({ violation }) => (violation ? [violation] : [])),
    ],
    [
      ...audited.flatMap((ruling) => auditWarnings(ruling, 'removed')),
      ...allowed.map(({ taint, allowed: by }) =>
        by.some(isAuditOnly)
          ? `${policyNames(by)} would allow the removal of taint ${formatTaint(taint)} by annotation (--audit)`
          : `${policyNames(by)} allowed the removal of taint ${formatTaint(taint)} by annotation`,
      ),
      ...added.flatMap((ruling) => auditWarnings(ruling, 'added')),
      ...reported.map(({ warning }) => warning),
    ],
  );
}

/**
 * An update of more taints than are compared with the rules. It is refused where a policy is in force that they may concern, because a protected taint
 * can be among those that it removes.
 */
export function validateTooManyChanges(
  { requester, node }: NodeUpdate,
  { what, limit, mayRemove, mayAdd }: TooManyChanges,
  policies: readonly CompiledTaintPolicy[],
): Decision<never> {
  const enforced = policies.filter(({ mode, exempts }) => mode !== 'Audit' && !exempts(requester));
  const removing = mayRemove > 0 ? enforced.filter(({ removalRules }) => removalRules.length > 0) : [];
  const adding = mayAdd > 0 ? enforced.filter(({ additionRules }) => additionRules.length > 0) : [];
  if (removing.length + adding.length === 0) return allow([], [`node ${node.name}: ${what}; ${limit}`]);
  const refusing = (found: readonly CompiledTaintPolicy[], outcome: Outcome, count: number) =>
    found.map(({ name, mode }): Violation => {
      const subject = `${count} taints`;
      return { policyKind: 'TaintPolicy', policy: name, field: 'spec.taints', mode, outcome, subject };
    });
  const names = atMost(
    MAX_NAMED,
    [...new Set([...removing, ...adding])].map(({ name }) => `"${name}"`),
  );
  return deny(
    `node ${node.name}: ${what}, and ${limit} where a TaintPolicy restricts changes of taints: ${names.join(', ')}. ` +
      'Change fewer taints in one update, or delete the node and register it again.',
    [...refusing(removing, 'denied', mayRemove), ...refusing(adding, 'addition-denied', mayAdd)],
  );
}
