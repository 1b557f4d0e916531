import type { Toleration } from './toleration.ts';

const tolerating = (key: string, effect: string): Toleration => ({ key, operator: 'Exists', effect });

const EVERY_DAEMON: readonly Toleration[] = [
  tolerating('node.kubernetes.io/not-ready', 'NoExecute'),
  tolerating('node.kubernetes.io/unreachable', 'NoExecute'),
  tolerating('node.kubernetes.io/disk-pressure', 'NoSchedule'),
  tolerating('node.kubernetes.io/memory-pressure', 'NoSchedule'),
  tolerating('node.kubernetes.io/pid-pressure', 'NoSchedule'),
  tolerating('node.kubernetes.io/unschedulable', 'NoSchedule'),
];

const HOST_NETWORK = tolerating('node.kubernetes.io/network-unavailable', 'NoSchedule');

/**
 * The tolerations that a DaemonSet's pods have: those of its template, and those that the DaemonSet controller gives to
 * each of its pods (`AddOrUpdateDaemonPodTolerations` in k8s.io/kubernetes/pkg/controller/daemon/util).
 *
 * A node that is not ready carries `not-ready` with NoSchedule as well, which is not among them.
 */
export function daemonTolerations(tolerations: readonly Toleration[], hostNetwork: boolean): Toleration[] {
  return [...tolerations, ...EVERY_DAEMON, ...(hostNetwork ? [HOST_NETWORK] : [])];
}
