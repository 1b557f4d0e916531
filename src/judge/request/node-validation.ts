import { formatTaint } from '../../kubernetes/taint.ts';
import { enforcedPolicies } from '../../policy/policy-index.ts';
import type { CompiledTaintPolicy } from '../../policy/policy-set.ts';
import { allow, type Decision, deny } from '../decision.ts';
import { endedStartupTaints, relabelWarnings } from '../ended-startup-taints.ts';
import { removal } from '../outcomes.ts';
import type { NodeChanges } from './node-changes.ts';
import { isKubelet, type NodeUpdate } from './node-request.ts';
import { auditWarnings, policyNames, refusal, violationsOf } from './node-update-reports.ts';
import { isAuditOnly, isForbidden, type JudgedUpdate } from './rulings.ts';

/** What validation decides on an update, after mutation: see {@link judgeNodeUpdate}. */
export function validateNode({ request, changes, rulings, selecting }: JudgedUpdate): Decision<never> {
  const denied = rulings.filter(isForbidden);
  if (denied.length > 0) {
    return deny(
      refusal(request, denied),
      denied.flatMap((ruling) => violationsOf(ruling, ruling.by, removal('Denied'))),
    );
  }
  const allowed = rulings.filter((ruling) => ruling.allowed.length > 0);
  // The policies that protect a removed taint are in mode Audit, because no removal is forbidden.
  return allow(
    [
      ...rulings.flatMap((ruling) => violationsOf(ruling, ruling.by, removal('Audited'))),
      ...allowed.flatMap((ruling) => violationsOf(ruling, ruling.allowed, removal('AllowedByAnnotation'))),
      ...rulings.flatMap((ruling) =>
        violationsOf(ruling, ruling.exempt.filter(isAuditOnly), removal('AllowedByExemption')),
      ),
    ],
    [
      ...rulings.flatMap(auditWarnings),
      ...allowed.map(({ taint, allowed: by }) =>
        by.some(isAuditOnly)
          ? `${policyNames(by)} would allow the removal of taint ${formatTaint(taint)} by annotation (--audit)`
          : `${policyNames(by)} allowed the removal of taint ${formatTaint(taint)} by annotation`,
      ),
      ...startupTaintWarnings(request, changes, selecting),
    ],
  );
}

/** A kubelet shows its warnings to no user. */
function startupTaintWarnings(
  { requester, node, oldNode }: NodeUpdate,
  { removed }: NodeChanges,
  policies: readonly CompiledTaintPolicy[],
): readonly string[] {
  if (isKubelet(requester)) return [];
  const gone = new Set(removed);
  const kept = oldNode.taints.filter((taint) => !gone.has(taint));
  const before = enforcedPolicies(policies, oldNode.labels);
  const after = enforcedPolicies(policies, node.labels);
  return relabelWarnings(node, endedStartupTaints(kept, before, after));
}
