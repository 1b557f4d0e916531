import { selectingPolicies } from '../policy/policy-index.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { allow, type Decision } from './decision.ts';
import { nodeChanges } from './node-changes.ts';
import { mutateNode } from './node-mutation.ts';
import { validateNode } from './node-validation.ts';
import { type DesiredNode, type NodeUpdate, sameLabels } from './node-view.ts';
import { additionRulings, removalRulings } from './rulings.ts';
import { mutateTooManyChanges, validateTooManyChanges } from './too-many-changes.ts';

/**
 * Judges the update of a Node: its changes, what the policies say of each, and what this phase makes of that.
 *
 * - Mutation restores the taints that Restore policies protect, removes the additions that they restrict, and writes notices into the annotation
 *   `allow-removal`. It reports what Deny and Restore policies allow, except removals by annotation.
 * - Validation denies what still violates a Deny or a Restore policy. It reports removals by annotation, and what Audit policies find.
 */
export function judgeNodeUpdate(request: NodeUpdate, policies: readonly CompiledTaintPolicy[]): Decision<DesiredNode> {
  const { phase } = request;
  const changes = nodeChanges(request);
  if ('limit' in changes) {
    const selecting = policiesOnUpdate(request, policies);
    return phase === 'mutate'
      ? mutateTooManyChanges(request, changes, selecting)
      : validateTooManyChanges(request, changes, selecting);
  }
  if (!changes.isAny) return allow();
  const selecting = policiesOnUpdate(request, policies);
  const rulings = {
    removals: removalRulings(request, changes.removed, selecting),
    additions: additionRulings(request, changes.added, selecting),
  };
  return phase === 'mutate'
    ? mutateNode(request, changes, rulings, selecting)
    : validateNode(request, rulings, selecting);
}

/** The policies that select the node before or after the update: one update cannot end the selection of the node and remove the taint as well. */
export function policiesOnUpdate(
  { node, oldNode }: Pick<NodeUpdate, 'node' | 'oldNode'>,
  policies: readonly CompiledTaintPolicy[],
): readonly CompiledTaintPolicy[] {
  if (sameLabels(node, oldNode)) return selectingPolicies(policies, node.labels);
  return policies.filter((policy) => policy.selectsNode(oldNode.labels) || policy.selectsNode(node.labels));
}
