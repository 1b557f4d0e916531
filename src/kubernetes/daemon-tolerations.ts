import type { Taint } from './taint.ts';
import { covers, type TaintRange } from './taint-range.ts';
import { type Toleration, tolerates } from './toleration.ts';
import {
  DISK_PRESSURE_KEY,
  MEMORY_PRESSURE_KEY,
  NETWORK_UNAVAILABLE_KEY,
  NOT_READY_KEY,
  PID_PRESSURE_KEY,
  UNREACHABLE_KEY,
  UNSCHEDULABLE_KEY,
} from './well-known-taints.ts';

const tolerating = (key: string, effect: string): Toleration => ({ key, operator: 'Exists', effect });

const EVERY_DAEMON: readonly Toleration[] = [
  tolerating(NOT_READY_KEY, 'NoExecute'),
  tolerating(UNREACHABLE_KEY, 'NoExecute'),
  tolerating(DISK_PRESSURE_KEY, 'NoSchedule'),
  tolerating(MEMORY_PRESSURE_KEY, 'NoSchedule'),
  tolerating(PID_PRESSURE_KEY, 'NoSchedule'),
  tolerating(UNSCHEDULABLE_KEY, 'NoSchedule'),
];

const HOST_NETWORK = tolerating(NETWORK_UNAVAILABLE_KEY, 'NoSchedule');

/**
 * The tolerations of a DaemonSet's pods: those of its template, and those that the DaemonSet controller adds to each of its pods
 * (`AddOrUpdateDaemonPodTolerations` in k8s.io/kubernetes/pkg/controller/daemon/util).
 *
 * A node that is not ready also carries `not-ready` with NoSchedule, which the controller does not add.
 */
export function daemonTolerations(tolerations: readonly Toleration[], hostNetwork: boolean): Toleration[] {
  return [...tolerations, ...EVERY_DAEMON, ...(hostNetwork ? [HOST_NETWORK] : [])];
}

/** Whether the pods of a DaemonSet tolerate the taint. */
export function daemonTolerates(
  daemonSet: { readonly tolerations: readonly Toleration[]; readonly hostNetwork: boolean },
  taint: Taint,
): boolean {
  return daemonTolerations(daemonSet.tolerations, daemonSet.hostNetwork).some((one) => tolerates(one, taint));
}

/**
 * The effects of the tolerations of a key that Kubernetes itself adds to pods of all users. The DaemonSet controller adds them without
 * `tolerationSeconds`, the admission plugin DefaultTolerationSeconds adds those of two of these keys with `tolerationSeconds`.
 */
export function givenEffects(key: Toleration['key']): string[] {
  return [...EVERY_DAEMON, HOST_NETWORK].flatMap((given) => (given.key === key && given.effect ? [given.effect] : []));
}

/** The DaemonSet controller replaces a NoExecute toleration of these keys with `Exists` by its own one without `tolerationSeconds`. */
export const OUTLASTING_KEYS: readonly string[] = EVERY_DAEMON.filter(({ effect }) => effect === 'NoExecute').map(
  ({ key }) => key ?? '',
);

/** True for a toleration whose `tolerationSeconds` do not count: see {@link OUTLASTING_KEYS}. */
export function outlastsItsSeconds({ key, operator }: Toleration): boolean {
  return operator === 'Exists' && OUTLASTING_KEYS.includes(key ?? '');
}

/** Which pods of DaemonSets tolerate all taints of the range, with any template. */
export function alwaysTolerated(range: TaintRange): 'in every pod' | 'with the host network' | 'nowhere' {
  if (EVERY_DAEMON.some((toleration) => covers(toleration, range))) return 'in every pod';
  return covers(HOST_NETWORK, range) ? 'with the host network' : 'nowhere';
}
