import { ownValue, type StringMap } from '../kubernetes/label-selector.ts';
import { formatRequirement, requirementsOf } from '../kubernetes/selector-overlap.ts';
import type { CompiledTaintPolicy } from '../policy/compiled-taint-policy.ts';

/** The labels by which autoscalers and clouds name the pool of a node, then what its machine is. */
const POOL_LABELS = [
  'karpenter.sh/nodepool',
  'cloud.google.com/gke-nodepool',
  'eks.amazonaws.com/nodegroup',
  'kubernetes.azure.com/agentpool',
  'doks.digitalocean.com/node-pool',
  'node.kubernetes.io/instance-type',
];

const OTHERS = 'other nodes';

/**
 * What the pool of a node is called: the selector of a policy that selects it, else the label of its pool or machine.
 * @param selecting the policies that select the node, the strongest mode first
 */
export function poolName(labels: StringMap, selecting: readonly Pick<CompiledTaintPolicy, 'nodeSelector'>[]): string {
  for (const { nodeSelector } of selecting) {
    const requirements = requirementsOf(nodeSelector);
    if (requirements.length > 0) return requirements.map(formatRequirement).join(', ');
  }
  const key = POOL_LABELS.find((label) => ownValue(labels, label));
  return key === undefined ? OTHERS : `${key}=${ownValue(labels, key)}`;
}
