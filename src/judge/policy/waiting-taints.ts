import type { Taint } from '../../kubernetes/taint.ts';
import { type CompiledTaintPolicy, isEnforcedWithoutAudit } from '../../policy/policy-set.ts';
import { isDeclaredTaint } from '../declared-taints.ts';

/**
 * The startup taints of the policy that the leader removes once the node is ready.
 * @param taints of a node that the policy selects
 */
export function waitingTaints(policy: CompiledTaintPolicy, taints: readonly Taint[]): Taint[] {
  if (!isEnforcedWithoutAudit(policy)) return [];
  return taints.filter((carried) => policy.untilReady.some((one) => isDeclaredTaint(carried, one)));
}
