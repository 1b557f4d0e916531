import { type DaemonSetView, type DesiredDaemonSet, judgeDaemonSet } from './daemon-set.ts';
import type { Decision, Violation } from './decision.ts';
import { own, type StringMap } from './label-selector.ts';
import type { PolicySet } from './policy-set.ts';

/** On a DaemonSet: the tolerations that were appended to it while it ran, `key=value:Effect, …`. */
export const ADDED_ANNOTATION = 'taintkeeper.dev/tolerations-added';

/**
 * Judges a DaemonSet that runs by the policies with `existing: Patch`: as if it were created now, as it is. Of one that opts out
 * or is on its way out there is nothing to say.
 */
export function judgeRunningDaemonSet(daemonSet: DaemonSetView, policies: PolicySet): Decision<DesiredDaemonSet> {
  const tolerationPolicies = policies.tolerationPolicies.filter(({ patchesExisting }) => patchesExisting);
  return judgeDaemonSet({ phase: 'mutate', daemonSet }, { ...policies, tolerationPolicies });
}

/** What {@link ADDED_ANNOTATION} lists, as violations name it; nothing where it is absent. */
export function addedTolerations(annotations: StringMap): string[] {
  const texts = (own(annotations, ADDED_ANNOTATION) ?? '').split(',').map((text) => text.trim());
  return texts.filter((text) => text !== '');
}

/** The annotation once these are added, too. */
export function withAdded(annotations: StringMap, added: readonly Violation[]): string {
  return [...new Set([...addedTolerations(annotations), ...added.map(({ subject }) => subject)])].join(', ');
}
