import type { Decision, Phase } from '../../../../src/judge/decision.ts';
import type { DesiredNode } from '../../../../src/judge/node-view.ts';
import { judgeNodeCreation } from '../../../../src/judge/request/node-creation.ts';
import type { NodeCreation, NodeUpdate } from '../../../../src/judge/request/node-request.ts';
import { judgeNodeUpdate } from '../../../../src/judge/request/node-update.ts';
import type { PolicySet } from '../../../../src/policy/policy-set.ts';

/** A request about a Node, and the phase in which the API server sends it. */
export type NodeReview = (NodeCreation | NodeUpdate) & { readonly phase: Phase };

/** Judges the creation of a Node, or its update where there is an earlier version of it. */
export function judgeNode(review: NodeReview, { taintPolicies }: PolicySet): Decision<DesiredNode> {
  const { phase, ...request } = review;
  return 'oldNode' in request
    ? judgeNodeUpdate[phase](request, taintPolicies)
    : judgeNodeCreation[phase](request, taintPolicies);
}
