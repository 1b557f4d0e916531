import { formatTaint } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { allow, type Decision, deny, taintViolation } from './decision.ts';
import { auditWarnings, policyNames, refusal, reportUnselection, violationsOf } from './node-update-reports.ts';
import type { NodeUpdate } from './node-view.ts';
import { effectiveAdditions, isAuditOnly, isForbidden, type Rulings } from './rulings.ts';
import { isForbiddenUnselection, unselections } from './unselections.ts';

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
  const reported = unselected.filter(isAuditOnly).map(reportUnselection);
  // The policies that restrict a change are in mode Audit, because no change is forbidden.
  return allow(
    [
      ...removals.flatMap((ruling) => violationsOf(ruling, ruling.by, 'audited')),
      ...allowed.flatMap((ruling) => violationsOf(ruling, ruling.allowed, 'allowed-by-annotation')),
      ...removals.flatMap((ruling) => violationsOf(ruling, ruling.exempt.filter(isAuditOnly), 'exempt')),
      ...effective.flatMap((ruling) => violationsOf(ruling, ruling.by, 'addition-audited')),
      ...effective.flatMap((ruling) => violationsOf(ruling, ruling.exempt.filter(isAuditOnly), 'addition-exempt')),
      ...reported.map(({ violation }) => violation),
    ],
    [
      ...removals.flatMap((ruling) => auditWarnings(ruling, 'removed')),
      ...allowed.map(({ taint, allowed: by }) =>
        by.some(isAuditOnly)
          ? `${policyNames(by)} would allow the removal of taint ${formatTaint(taint)} by annotation (--audit)`
          : `${policyNames(by)} allowed the removal of taint ${formatTaint(taint)} by annotation`,
      ),
      ...effective.flatMap((ruling) => auditWarnings(ruling, 'added')),
      ...reported.map(({ warning }) => warning),
    ],
  );
}
