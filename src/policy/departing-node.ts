import { matchesPattern } from './pattern.ts';
import type { Taint } from './taint.ts';

/** Taints of a node that is about to go, or that somebody repairs by making it start anew. A part of the transient ones. */
export const DEPARTURE_TAINT_KEYS: readonly string[] = [
  'node.kubernetes.io/out-of-service',
  'node.cloudprovider.kubernetes.io/shutdown',
  'ToBeDeletedByClusterAutoscaler',
  'karpenter.sh/disrupted',
  'karpenter.sh/disruption',
  'cloud.google.com/impending-node-termination',
  'aws-node-termination-handler/*',
  'medik8s.io/remediation',
  'remediator.kubernetes.azure.com/*',
];

/** True when the taints say that the node will soon be gone, deleted or restarted. */
export function isDeparting(taints: readonly Taint[]): boolean {
  return taints.some(({ key }) => DEPARTURE_TAINT_KEYS.some((pattern) => matchesPattern(pattern, key)));
}
