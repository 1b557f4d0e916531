import type { Decision } from '../../../../src/judge/decision.ts';
import type { DesiredNode } from '../../../../src/judge/node-view.ts';
import { judgeNodeCreation } from '../../../../src/judge/request/node-creation.ts';
import type { NodeCreation, NodeUpdate } from '../../../../src/judge/request/node-request.ts';
import { judgeNodeUpdate } from '../../../../src/judge/request/node-update.ts';
import type { PolicySet } from '../../../../src/policy/policy-set.ts';

/** Judges the creation of a Node, or its update where there is an earlier version of it. */
export function judgeNode(request: NodeCreation | NodeUpdate, { taintPolicies }: PolicySet): Decision<DesiredNode> {
  return 'oldNode' in request ? judgeNodeUpdate(request, taintPolicies) : judgeNodeCreation(request, taintPolicies);
}
