import { formatTaint, type Taint } from '../../kubernetes/taint.ts';
import { rfc3339 } from '../../kubernetes/time.ts';
import { type Blocker, blockersText } from './blocker.ts';
import type { StartupRequirement } from './startup-requirement.ts';

/** A startup taint that stays on a node for now. */
export interface WaitingTaint {
  readonly requirement: StartupRequirement;
  /** When the leader recorded the reboot after which the taint waits, in milliseconds since the epoch. Undefined if it does not. */
  readonly rebootedAt: number | undefined;
  readonly blockers: readonly Blocker[];
  readonly forMs: number;
  readonly isOverdue: boolean;
  /** See {@link lastingObstaclesOn}. Somebody has to change a DaemonSet or a policy. */
  readonly lastingObstacles: readonly Taint[];
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

/** What to do about a node that waits for too long. */
export function overdueAdvice({ parts }: StartupRequirement): string[] {
  return parts.allDaemonSets.length === 0
    ? []
    : ['a DaemonSet whose pods wait until the taint is removed belongs in allDaemonSets.except'];
}
