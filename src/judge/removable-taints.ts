import { identity, type Taint, valuesOf } from '../kubernetes/taint.ts';
import { enforcedPolicies } from '../policy/policy-index.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { NodeView } from './node-view.ts';

/** A taint that a node carries and a policy requires there. */
export interface CarriedTaint {
  readonly taint: Taint;
  /** Why it cannot be removed; undefined where it can. */
  readonly kept: KeptReason | undefined;
}

export type KeptReason =
  /** The node carries it with a value that taintkeeper does not set for the policy. */
  | { readonly reason: 'OtherValue' }
  /** The policy does not select the node by its labels of today. */
  | { readonly reason: 'NotSelected' }
  /** Another policy protects it on the node. */
  | { readonly reason: 'Protected'; readonly by: string };

/**
 * The taints of a node that a policy requires, and whether they can be removed once it requires them no longer.
 *
 * @param others the policies that stay in force
 */
export function requiredTaintsOn(
  node: Pick<NodeView, 'labels' | 'taints'>,
  policy: CompiledTaintPolicy,
  others: readonly CompiledTaintPolicy[],
): CarriedTaint[] {
  const values = valuesOf(policy.ensured.map(({ value: { taint } }) => taint));
  const protectorOf = (taint: Taint) =>
    enforcedPolicies(others, node.labels).find((other) => other.protectedBy(taint) !== undefined);
  return node.taints
    .filter((taint) => values.has(identity(taint)))
    .map((taint): CarriedTaint => {
      if (values.get(identity(taint)) !== (taint.value ?? '')) return { taint, kept: { reason: 'OtherValue' } };
      if (!policy.selectsNode(node.labels)) return { taint, kept: { reason: 'NotSelected' } };
      const by = protectorOf(taint)?.name;
      return { taint, kept: by === undefined ? undefined : { reason: 'Protected', by } };
    });
}
