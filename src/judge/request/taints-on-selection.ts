import { equalTaints, type Taint, taintIdentity, valuesAmong } from '../../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { isProtectedBy, selectingPolicies } from '../../policy/policy-index.ts';
import type { MissingTaint } from '../missing-taint.ts';
import { nodeDrift } from '../node-drift.ts';
import type { NodeUpdate } from './node-request.ts';

/**
 * The required taints that an update of a Node gets because it makes their policies select the node: for these policies, it counts as a registration.
 * Taints that would evict pods are not among them, because the node already runs. If policies disagree, the leader decides after the update.
 *
 * @param taints of the node after the update
 * @param selecting the policies of every mode that select the node by its labels before or after the update
 */
export function taintsOnSelection(
  { node, oldNode }: Pick<NodeUpdate, 'node' | 'oldNode'>,
  taints: readonly Taint[],
  selecting: readonly CompiledTaintPolicy[],
): MissingTaint[] {
  // The value before the request counts, so that no single write can both allow and change.
  const selectingAfter = selectingPolicies(selecting, node.labels);
  const { missing } = nodeDrift({ ...node, taints, allowRemoval: oldNode.allowRemoval }, selectingAfter);
  const valueByTaint = valuesAmong(
    taints,
    missing.map(({ taint }) => taint),
  );
  return missing.filter(({ policy, taint, blockedBy }) => {
    const present = valueByTaint.get(taintIdentity(taint));
    const others = selectingAfter.filter((other) => other !== policy);
    return (
      blockedBy === undefined &&
      !policy.selectsNode(oldNode.labels) &&
      policy.required.some((one) => equalTaints(one.taint, taint)) &&
      (present === undefined || !isProtectedBy(others, { ...taint, value: present }))
    );
  });
}
