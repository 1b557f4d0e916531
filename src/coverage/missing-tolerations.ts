import { formatTaint, type TAINT_EFFECTS, type Taint, taintIdentity } from '../kubernetes/taint.ts';
import type { PolicyToleration } from '../policy/toleration-policy.ts';
import type { SchedulingNode, SchedulingView } from '../scheduling/coverage.ts';
import type { Gap } from './gaps.ts';

/** A DaemonSet, and the tolerations that it needs in addition to its own. */
export interface MissingTolerations<DaemonSet> {
  readonly daemonSet: DaemonSet;
  readonly tolerations: readonly PolicyToleration[];
}

/** The tolerations that close the gaps, for each of their DaemonSets. */
export function missingTolerationsOf<DaemonSet extends SchedulingView>(
  gaps: readonly Pick<Gap<DaemonSet, SchedulingNode>, 'daemonSet' | 'taints'>[],
): MissingTolerations<DaemonSet>[] {
  return [...Map.groupBy(gaps, ({ daemonSet }) => daemonSet)].map(([daemonSet, own]) => ({
    daemonSet,
    tolerations: tolerationsFor(own.flatMap(({ taints }) => taints)),
  }));
}

/**
 * The tolerations that cover the taints, each once, in a fixed order. A taint without a value is tolerated with any value, as is usual for role
 * taints. The same taint with a value then needs no further toleration.
 */
export function tolerationsFor(taints: readonly Taint[]): PolicyToleration[] {
  const bare = new Set(taints.filter(({ value }) => !value).map(taintIdentity));
  const needed = new Map(
    taints
      .filter((taint) => !taint.value || !bare.has(taintIdentity(taint)))
      .map((taint) => [formatTaint(taint), taint]),
  );
  return [...needed]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { key, value, effect }]) => ({
      key,
      ...(value ? { operator: 'Equal', value } : { operator: 'Exists' }),
      effect: effect as (typeof TAINT_EFFECTS)[number],
    }));
}
