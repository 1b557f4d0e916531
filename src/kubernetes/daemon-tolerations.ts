import { covers, type TaintRange } from './taint-range.ts';
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

/** With `Exists` and NoExecute, the DaemonSet controller puts its own toleration in place of one of these, which has no seconds. */
export const OUTLASTING_KEYS: readonly string[] = EVERY_DAEMON.filter(({ effect }) => effect === 'NoExecute').map(
  ({ key }) => key ?? '',
);

/** True for a toleration whose `tolerationSeconds` do not count: see {@link OUTLASTING_KEYS}. */
export function outlastsItsSeconds({ key, operator }: Toleration): boolean {
  return operator === 'Exists' && OUTLASTING_KEYS.includes(key ?? '');
}

/** Which pods of DaemonSets tolerate all taints of the range, whatever their template says. */
export function alwaysTolerated(range: TaintRange): 'in every pod' | 'with the host network' | 'nowhere' {
  if (EVERY_DAEMON.some((toleration) => covers(toleration, range))) return 'in every pod';
  return covers(HOST_NETWORK, range) ? 'with the host network' : 'nowhere';
}
