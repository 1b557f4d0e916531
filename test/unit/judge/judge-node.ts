import type { Decision } from '../../../src/judge/decision.ts';
import { judgeNodeCreation } from '../../../src/judge/node-creation.ts';
import type { NodeCreation, NodeUpdate } from '../../../src/judge/node-request.ts';
import { judgeNodeUpdate } from '../../../src/judge/node-update.ts';
import type { DesiredNode } from '../../../src/judge/node-view.ts';
import type { PolicySet } from '../../../src/policy/policy-set.ts';

/** Judges the creation of a Node, or its update where there is an earlier version of it. */
export function judgeNode(request: NodeCreation | NodeUpdate, { taintPolicies }: PolicySet): Decision<DesiredNode> {
  return 'oldNode' in request ? judgeNodeUpdate(request, taintPolicies) : judgeNodeCreation(request, taintPolicies);
}
