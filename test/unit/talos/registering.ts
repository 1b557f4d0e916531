import { parsePolicies } from '../../../src/files/policy-files.ts';
import { formatTaint } from '../../../src/kubernetes/taint.ts';
import { compilePolicies } from '../../../src/policy/policy-set.ts';
import { labelsOf, type NodeDeclaration } from '../../../src/talos/node-declaration.ts';
import { judgeNode } from '../judge/request/judge-node.ts';

/** What admission adds, by these policies, to a node that registers with the labels that a machine configuration declares. */
export function registering(policies: string): (declaration: NodeDeclaration) => string[] {
  const compiled = compilePolicies(parsePolicies([{ name: 'derived.yaml', text: policies }]));
  const requester = { username: 'system:node:n', groups: ['system:nodes'] };
  return (declaration) => {
    const node = {
      name: 'n',
      labels: labelsOf(declaration),
      taints: [],
      allowRemoval: undefined,
    };
    const decision = judgeNode({ phase: 'mutate', requester, node }, compiled);
    return decision.action === 'patch' ? decision.desired.taints.map(formatTaint).sort() : [];
  };
}
