import { implies, requirementsOf, satisfiable } from '../../kubernetes/selector-overlap.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';

/** The nodes that two policies both select. */
export interface SelectionOverlap {
  /** The names of the existing ones. */
  readonly nodes: readonly string[];
  /** If none exists: the policy whose possible nodes the other policy would all select as well. */
  readonly within?: CompiledTaintPolicy;
  /** False if none exists, and each policy could also select nodes that the other one does not select. */
  readonly isCertain: boolean;
}

/**
 * Undefined if no node can have the labels of both.
 * @param nodes the existing nodes that both select
 */
export function selectionOverlap(
  one: CompiledTaintPolicy,
  other: CompiledTaintPolicy,
  nodes: readonly string[],
): SelectionOverlap | undefined {
  if (nodes.length > 0) return { nodes, isCertain: true };
  const [a, b] = [requirementsOf(one.nodeSelector), requirementsOf(other.nodeSelector)];
  if (!satisfiable([...a, ...b])) return undefined;
  if (implies(a, b)) return { nodes: [], within: one, isCertain: true };
  if (implies(b, a)) return { nodes: [], within: other, isCertain: true };
  return { nodes: [], isCertain: false };
}
