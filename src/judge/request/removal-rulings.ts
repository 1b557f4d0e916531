import { oncePer } from '../../collections/once-per.ts';
import type { Taint } from '../../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { isEnforced } from '../../policy/enforcement.ts';
import type { TaintMode } from '../../policy/taint-policy.ts';
import { isRemovalAllowed, parseAllowedRemovals } from '../allow-removal.ts';
import type { NodeChanges } from './node-changes.ts';
import type { NodeUpdate } from './node-request.ts';

/** A policy that protects a taint, and its field. */
export interface Protection {
  readonly policy: CompiledTaintPolicy;
  readonly field: string;
}

/** Whether the policy only reports. */
export function isAuditOnly({ policy }: Protection): boolean {
  return !isEnforced(policy);
}

/** The result of all policies for one taint that an update removes. */
export interface Ruling {
  readonly taint: Taint;
  /** The strongest mode of the policies that protect it. Undefined if each of them allows the removal, or exempts the requester. */
  readonly mode: TaintMode | undefined;
  /** The policies of that mode. */
  readonly by: readonly Protection[];
  /** All enforced policies that forbid the removal, of any mode. */
  readonly forbiddenBy: readonly Protection[];
  /** Policies that allow the removal by annotation, or would without --audit. */
  readonly allowed: readonly Protection[];
  /** Policies that exempt the requester. */
  readonly exempt: readonly Protection[];
}

/** An update, and everything that both phases need to judge it. */
export interface JudgedUpdate {
  readonly request: NodeUpdate;
  readonly changes: NodeChanges;
  readonly rulings: readonly Ruling[];
  /** The policies of every mode that select the node by its labels before or after the update. The strongest mode first. */
  readonly selecting: readonly CompiledTaintPolicy[];
  /** Whether the labels change. If not, no policy begins or stops selecting the node. */
  readonly labelsChange: boolean;
}

/** Whether the request must not remove the taint. */
export function isForbidden({ mode }: Ruling): boolean {
  return mode === 'Deny' || mode === 'Restore';
}

/** The policies that exempt the requester, and do more than report. */
export function enforcedExemptions({ exempt }: Ruling): Protection[] {
  return exempt.filter((one) => !isAuditOnly(one));
}

/**
 * The ruling for each removed taint.
 * @param selecting the policies of every mode that select the node by its labels before or after the update. The strongest mode first
 */
export function removalRulings(
  { oldNode, requester }: NodeUpdate,
  removed: readonly Taint[],
  selecting: readonly CompiledTaintPolicy[],
): Ruling[] {
  // The value before the request counts, so that no single write can both allow and remove.
  const allowedBefore = parseAllowedRemovals(oldNode.allowRemoval);
  // Evaluated only if needed: a user can have hundreds of groups, and most policies protect no removed taint.
  const isExempt = oncePer((policy: CompiledTaintPolicy) => policy.exempts(requester));
  return removed.map((taint) => {
    const isNamed = isRemovalAllowed(allowedBefore, taint);
    const protecting: Protection[] = [];
    const allowed: Protection[] = [];
    const exempt: Protection[] = [];
    for (const policy of selecting) {
      const rule = policy.protectingRule(taint);
      if (rule === undefined) continue;
      const protection: Protection = { policy, field: rule.field };
      if (isExempt(policy)) exempt.push(protection);
      else if (isNamed && policy.allowsRemovalByAnnotation) allowed.push(protection);
      else protecting.push(protection);
    }
    // Policies come with the strongest mode first.
    const mode = protecting[0]?.policy.mode;
    return {
      taint,
      mode,
      by: protecting.filter(({ policy }) => policy.mode === mode),
      forbiddenBy: protecting.filter((one) => !isAuditOnly(one)),
      allowed,
      exempt,
    };
  });
}
