import type { NodeSelectorRequirement } from '../../../src/kubernetes/node-affinity.ts';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import type { SchedulingNode, SchedulingView } from '../../../src/scheduling/coverage.ts';

export const MASTER: Taint = { key: 'node-role.kubernetes.io/master', effect: 'NoSchedule' };
export const CONTROL_PLANE: Taint = { key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' };
export const GPU: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
export const NOT_READY: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

/** A DaemonSet that asks for nothing but what is given. */
export function daemonSet(name: string, given: Partial<SchedulingView> = {}): SchedulingView {
  return {
    namespace: 'kube-system',
    name,
    nodeName: '',
    nodeSelector: {},
    nodeAffinity: undefined,
    tolerations: [],
    hostNetwork: false,
    ...given,
  };
}

/** The part of a DaemonSet by which its pods run only on nodes with such labels. */
export function affine(...matchExpressions: NodeSelectorRequirement[]): Pick<SchedulingView, 'nodeAffinity'> {
  return { nodeAffinity: [{ matchExpressions, matchFields: [] }] };
}

export function node(name: string, taints: readonly Taint[] = [], labels: SchedulingNode['labels'] = {}) {
  return { name, taints, labels };
}
