import type { Taint } from '../kubernetes/taint.ts';
import type { Coverage } from '../scheduling/coverage.ts';

/** Whether a taint of a node keeps a DaemonSet off only for a time, see `isTransientFor`. */
export type IsTransient = (taint: Taint) => boolean;

/**
 * The taints that keep a DaemonSet off a node, if nothing else does. Without a permanent one, the DaemonSet runs there once the others are removed.
 * @returns undefined if it runs there, or if a selector or an affinity keeps it off as well
 */
export function taintsAlone(
  coverage: Coverage,
  isTransient: IsTransient,
): { readonly permanent: readonly Taint[]; readonly transient: readonly Taint[] } | undefined {
  if (coverage.runs) return undefined;
  const taints = coverage.obstacles.flatMap((obstacle) => (obstacle.kind === 'taint' ? [obstacle.taint] : []));
  if (taints.length < coverage.obstacles.length) return undefined;
  const { permanent = [], transient = [] } = Object.groupBy(taints, (taint) =>
    isTransient(taint) ? 'transient' : 'permanent',
  );
  return { permanent, transient };
}
