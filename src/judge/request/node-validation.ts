import { formatTaint } from '../../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { isOnTrial } from '../../policy/enforcement.ts';
import { enforcedPolicies } from '../../policy/policy-index.ts';
import { allow, type Decision, deny } from '../decision.ts';
import { endedStartupTaints } from '../ended-startup-taints.ts';
import { type Outcome, onTrial, removalOutcome } from '../outcomes.ts';
import { relabelWarnings } from '../startup-loss-warnings.ts';
import { taintViolation } from '../violation.ts';
import { isKubelet } from './node-request.ts';
import { auditWarnings, policyNames, refusal, violationsOf } from './node-update-reports.ts';
import { isAuditOnly, isForbidden, type JudgedUpdate } from './removal-rulings.ts';

/** The decision of validation about an update, after mutation: see {@link judgeNodeUpdate}. */
export function validateNode(update: JudgedUpdate): Decision<never> {
  const { request, rulings } = update;
  const denied = rulings.filter(isForbidden);
  if (denied.length > 0) {
    return deny(
      refusal(request, denied),
      denied.flatMap((ruling) => violationsOf(ruling, ruling.by, removalOutcome('Denied'))),
    );
  }
  const allowed = rulings.filter((ruling) => ruling.allowed.length > 0);
  // The policies that protect a removed taint are in mode Audit, because no removal is forbidden.
  return allow(
    [
      ...rulings.flatMap(({ taint, by }) =>
        by.map(({ policy, field }) => taintViolation(policy, field, taint, auditedRemoval(policy))),
      ),
      ...allowed.flatMap((ruling) => violationsOf(ruling, ruling.allowed, removalOutcome('AllowedByAnnotation'))),
      ...rulings.flatMap((ruling) =>
        violationsOf(ruling, ruling.exempt.filter(isAuditOnly), removalOutcome('AllowedByExemption')),
      ),
    ],
    [
      ...rulings.flatMap(auditWarnings),
      ...allowed.map(({ taint, allowed: by }) =>
        by.some(isAuditOnly)
          ? `${policyNames(by)} would allow the removal of taint ${formatTaint(taint)} by annotation (--audit)`
          : `${policyNames(by)} allowed the removal of taint ${formatTaint(taint)} by annotation`,
      ),
      ...startupTaintWarnings(update),
    ],
  );
}

/** For a policy that is in mode Audit only because of --audit: the outcome that its declared mode would have. */
function auditedRemoval(policy: CompiledTaintPolicy): Outcome {
  if (!isOnTrial(policy)) return removalOutcome('Audited');
  return onTrial(removalOutcome(policy.declaredMode === 'Restore' ? 'Restored' : 'Denied'));
}

/** None for a kubelet, which does not show warnings to users. */
function startupTaintWarnings({ request, changes, selecting, labelsChange }: JudgedUpdate): readonly string[] {
  const { requester, node, oldNode } = request;
  if (isKubelet(requester) || !labelsChange) return [];
  const gone = new Set(changes.removed);
  const kept = oldNode.taints.filter((taint) => !gone.has(taint));
  const before = enforcedPolicies(selecting, oldNode.labels);
  const after = enforcedPolicies(selecting, node.labels);
  return relabelWarnings(node, endedStartupTaints(kept, before, after));
}
