import { allocatableText } from './allocatable.ts';
import { type Blocker, blockersText } from './blocker.ts';
import { conditionText } from './conditions.ts';
import { csiDriverText } from './csi-drivers.ts';
import { daemonSetText } from './daemon-sets.ts';
import type { JudgedPart } from './startup-readiness.ts';
import type { StartupRequirement } from './startup-requirement.ts';

/** Why a taint is removed once `readyWhen` holds, in words. */
export function readyText({ parts }: StartupRequirement): string {
  const { conditions, csiDrivers, allocatable } = parts;
  const texts: Readonly<Record<JudgedPart, readonly string[]>> = {
    daemonSets: daemonSetText(parts),
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
