import { formatTaint } from '../../kubernetes/taint.ts';
import { rfc3339 } from '../../kubernetes/time.ts';
import { type Blocker, blockersText, type KeptOffDaemonSet } from './blocker.ts';
import type { StartupRequirement } from './startup-requirement.ts';

/** A startup taint that stays on a node for now. */
export interface WaitingTaint {
  readonly requirement: StartupRequirement;
  /** When the leader recorded the reboot after which the taint waits, in milliseconds since the epoch. Undefined if it does not. */
  readonly rebootedAt: number | undefined;
  readonly blockers: readonly Blocker[];
  readonly forMs: number;
  readonly isOverdue: boolean;
  /** See {@link lastingObstaclesOn}. Until a DaemonSet or a policy changes, the taint stays. */
  readonly lastingObstacles: readonly KeptOffDaemonSet[];
}

/**
 * For example `startup taint example.com/network:NoSchedule waits for DaemonSet kube-system/cilium: its pod is not Ready`. After a reboot, it says since when:
 * `… waits, since the reboot recorded at 2026-11-28T12:00:00Z, for …`.
 */
export function waitingText({
  requirement,
  rebootedAt,
  blockers,
}: Pick<WaitingTaint, 'requirement' | 'rebootedAt' | 'blockers'>): string {
  const since = rebootedAt === undefined ? '' : `, since the reboot recorded at ${rfc3339(rebootedAt)},`;
  return `startup taint ${formatTaint(requirement.taint)} waits${since} for ${blockersText(blockers)}`;
}

/** For example `startup taint example.com/network:NoSchedule waits for DaemonSet kube-system/cni, which does not tolerate example.com/dedicated:NoSchedule`. */
export function lastingObstaclesText({
  requirement,
  lastingObstacles,
}: Pick<WaitingTaint, 'requirement' | 'lastingObstacles'>): string {
  const daemonSets = lastingObstacles.map(
    ({ name, by }) => `DaemonSet ${name}, which does not tolerate ${by.map(formatTaint).join(', ')}`,
  );
  return `startup taint ${formatTaint(requirement.taint)} waits for ${daemonSets.join(', and ')}`;
}

/** What to do about a node that waits for too long. */
export function overdueAdvice({ parts }: StartupRequirement): string[] {
  return parts.allDaemonSets.length === 0
    ? []
    : ['a DaemonSet whose pods wait until the taint is removed belongs in allDaemonSets.except'];
}
