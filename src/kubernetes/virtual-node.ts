import { ownValue, type StringMap } from './label-selector.ts';

/**
 * Labels of nodes that stand for a service which runs single pods: Virtual Kubelet and its providers, and EKS Fargate
 * (https://docs.aws.amazon.com/eks/latest/userguide/fargate.html). A DaemonSet's pod stays Pending there.
 */
const VIRTUAL_NODE_LABELS = [
  ['type', 'virtual-kubelet'],
  ['eks.amazonaws.com/compute-type', 'fargate'],
] as const;

/** The label that makes a node virtual; undefined for other nodes. */
export function virtualNodeLabel({
  labels,
}: {
  readonly labels: StringMap;
}): readonly [key: string, value: string] | undefined {
  return VIRTUAL_NODE_LABELS.find(([key, value]) => ownValue(labels, key) === value);
}
