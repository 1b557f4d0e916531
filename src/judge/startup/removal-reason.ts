import { daemonSetName } from '../../policy/ready-when.ts';
import { allocatableText } from './allocatable.ts';
import { type Blocker, blockersText } from './blocker.ts';
import { conditionText } from './conditions.ts';
import { csiDriverText } from './csi-drivers.ts';
import type { StartupRequirement } from './startup-requirement.ts';

/** Why a taint is removed once `readyWhen` holds, in words. */
export function readyText({ parts }: StartupRequirement): string {
  const { daemonSets, allDaemonSets, conditions, csiDrivers, allocatable } = parts;
  const names = daemonSets.map(daemonSetName);
  const are = names.length === 1 ? `DaemonSet ${names[0]} is` : `DaemonSets ${names.join(', ')} are`;
  return [
    ...(names.length === 0 ? [] : [`${are} ready`]),
    ...(allDaemonSets.length === 0 ? [] : ['all DaemonSets that run on the node are ready']),
    ...conditionText(conditions),
    ...csiDriverText(csiDrivers),
    ...allocatableText(allocatable),
  ].join(', ');
}

/** Why it is removed although `readyWhen` does not hold, in words. */
export function givenUpText({ removeAfterMs = 0 }: StartupRequirement, blockers: readonly Blocker[]): string {
  return `the deadline of ${removeAfterMs / 1_000} s has passed, though it waits for ${blockersText(blockers)}`;
}
