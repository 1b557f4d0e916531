import type { Taint } from '../../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../../policy/policy-set.ts';
import { isDeclaredTaint } from '../declared-taints.ts';

/**
 * The startup taints of the policy that the leader removes once the node is ready.
 * @param taints of a node that the policy selects
 */
export function waitingTaints({ declared, untilReady }: CompiledTaintPolicy, taints: readonly Taint[]): Taint[] {
  if (declared === 'Audit') return [];
  return taints.filter((carried) => untilReady.some((one) => isDeclaredTaint(carried, one)));
}
