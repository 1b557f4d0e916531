import { daemonSetName, type ReadyParts } from '../../policy/ready-when.ts';
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
  const texts: Readonly<Record<keyof ReadyParts, readonly string[]>> = {
    daemonSets: names.length === 0 ? [] : [`${are} ready`],
    allDaemonSets: allDaemonSets.length === 0 ? [] : ['all DaemonSets that run on the node are ready'],
    conditions: conditionText(conditions),
    csiDrivers: csiDriverText(csiDrivers),
    allocatable: allocatableText(allocatable),
  };
  return Object.values(texts).flat().join(', ');
}

/** Why it is removed although `readyWhen` does not hold, in words. */
export function givenUpText({ removeAfterMs = 0 }: StartupRequirement, blockers: readonly Blocker[]): string {
  return `the deadline of ${removeAfterMs / 1_000} s has passed, though it waits for ${blockersText(blockers)}`;
}
