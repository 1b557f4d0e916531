import { sameLabels } from '../../kubernetes/label-selector.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { selectingPolicies } from '../../policy/policy-index.ts';
import { allow, type Decision, type Judge } from '../decision.ts';
import type { DesiredNode } from '../node-view.ts';
import { judgedRemovals, nodeChanges, type TooManyChanges } from './node-changes.ts';
import { mutateNode } from './node-mutation.ts';
import type { NodeUpdate } from './node-request.ts';
import { validateNode } from './node-validation.ts';
import { type JudgedUpdate, removalRulings } from './removal-rulings.ts';
import { validateTooManyChanges } from './too-many-changes.ts';

/**
 * Judges the update of a Node. Both phases find the changes, and apply the policies to each removed taint:
 *
 * - Mutation restores the taints that Restore policies protect, sets the required taints of policies that begin to select the node, and keeps the
 *   entries of the annotation `allow-removal` current. It reports what exempt users remove.
 * - Validation denies an update that still violates a Deny or a Restore policy. It reports removals by annotation, and violations of Audit policies. It
 *   warns if a change of labels makes a waiting node lose its startup taint.
 */
export const judgeNodeUpdate: Judge<NodeUpdate, readonly CompiledTaintPolicy[], DesiredNode> = {
  mutate: (request, policies) =>
    // Validation denies an update with too many changes, or warns.
    judge(request, policies, { ofChanges: mutateNode, ofTooMany: () => allow() }),
  validate: (request, policies) =>
    judge(request, policies, { ofChanges: validateNode, ofTooMany: validateTooManyChanges }),
};

/** The decisions of one phase. */
interface Answers<Desired> {
  readonly ofChanges: (update: JudgedUpdate) => Decision<Desired>;
  readonly ofTooMany: (
    request: NodeUpdate,
    changes: TooManyChanges,
    selecting: readonly CompiledTaintPolicy[],
  ) => Decision<Desired>;
}

function judge<Desired>(
  request: NodeUpdate,
  policies: readonly CompiledTaintPolicy[],
  answers: Answers<Desired>,
): Decision<Desired> {
  const changes = nodeChanges(request);
  const labelsChange = !sameLabels(request.node.labels, request.oldNode.labels);
  const selecting = labelsChange
    ? selectingBeforeOrAfter(request, policies)
    : selectingPolicies(policies, request.node.labels);
  if (changes.kind === 'TooMany') return answers.ofTooMany(request, changes, selecting);
  if (changes.removed.length + changes.added.length === 0 && !labelsChange) return allow();
  const rulings = removalRulings(request, judgedRemovals(request, changes.removed, selecting), selecting);
  return answers.ofChanges({ request, changes, rulings, selecting, labelsChange });
}

/** The policies that select the node before or after the update: one update cannot end the selection of the node and remove the taint as well. */
function selectingBeforeOrAfter(
  { node, oldNode }: Pick<NodeUpdate, 'node' | 'oldNode'>,
  policies: readonly CompiledTaintPolicy[],
): readonly CompiledTaintPolicy[] {
  return policies.filter((policy) => policy.selectsNode(oldNode.labels) || policy.selectsNode(node.labels));
}
