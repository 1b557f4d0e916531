import { equalToleration, type Toleration } from '../../kubernetes/toleration.ts';
import type { DeclaredToleration } from './declared-tolerations.ts';

/** The pod template of a DaemonSet before an update. */
export interface RunningTemplate {
  readonly tolerations: readonly Toleration[];
  /** True when the update does not change the pod template, except for its tolerations. */
  readonly sameTemplate: boolean;
}

/**
 * The tolerations that an update removes from the end of a running DaemonSet's list, if it changes nothing else in the template and policies require
 * all of them. Mutation adds only these again, so the template stays the same and no pod restarts. Other missing tolerations have to wait.
 * @returns an empty list if the template does not change, and undefined if the update starts new pods anyway
 */
export function removedFromEnd(
  tolerations: readonly Toleration[],
  declared: readonly DeclaredToleration[],
  { tolerations: ran, sameTemplate }: RunningTemplate,
): DeclaredToleration[] | undefined {
  const begins = tolerations.every((toleration, index) => {
    const before = ran[index];
    return before !== undefined && equalToleration(toleration, before);
  });
  if (!sameTemplate || !begins) return undefined;
  const rest = ran.slice(tolerations.length);
  const matching = rest.flatMap((toleration) => {
    const one = declared.find((other) => equalToleration(other.toleration, toleration));
    // As the running template spells it: an added or omitted `operator: Equal` would change the template.
    return one ? [{ ...one, toleration }] : [];
  });
  return matching.length === rest.length ? matching : undefined;
}
