import { compilePattern } from './pattern.ts';

/**
 * Taints that come and go by themselves. A policy protects one of them only if it names the key exactly: restoring
 * them through a wildcard makes nodes useless (kubernetes-sigs/karpenter#1772).
 */
export const TRANSIENT_TAINT_KEYS: readonly string[] = [
  // Set and removed by Kubernetes itself: node life cycle, cloud controller managers, kubelet shutdown.
  'node.kubernetes.io/*',
  'node.cloudprovider.kubernetes.io/*',
  // Set by autoscalers on nodes that come or go.
  'ToBeDeletedByClusterAutoscaler',
  'DeletionCandidateOfClusterAutoscaler',
  'startup-taint.cluster-autoscaler.kubernetes.io/*',
  'status-taint.cluster-autoscaler.kubernetes.io/*',
  'ignore-taint.cluster-autoscaler.kubernetes.io/*',
  'karpenter.sh/*',
  'cloud.google.com/impending-node-termination',
  'aws-node-termination-handler/*',
  // Cluster API, and operators that drain or remediate nodes: set for a while, removed by whoever set them.
  'node.cluster.x-k8s.io/*',
  'medik8s.io/remediation',
  'remediator.kubernetes.azure.com/*',
  'kubevirt.io/drain',
  // Start-up taints: an agent removes its own once it runs on the node.
  '*/agent-not-ready', // Cilium, and CSI drivers of many vendors
  'cni.istio.io/not-ready',
  'readiness.k8s.io/*',
  'nidhogg.uswitch.com/*',
];

const MATCHERS = TRANSIENT_TAINT_KEYS.map(compilePattern);

/** True for a taint key that controllers or agents are known to add and remove in the normal life of a node. */
export function isTransientTaintKey(key: string): boolean {
  return MATCHERS.some((matches) => matches(key));
}
