import type { Change } from '../../cluster/watch/cached-objects.ts';
import { isRemovalNoted, parseAllowedRemovals } from '../../judge/removal.ts';
import { droppedTaints, formatTaint, identity, type Taint } from '../../kubernetes/taint.ts';
import type { ClusterNode } from '../sources.ts';

/**
 * Which taints nodes lost in an update that left a notice of it in the annotation `allow-removal`. Mutation writes it so for exempt users.
 * Other users can write notices as well, also beforehand, but a request of theirs that removes the taint is refused, and `nodes/status` cannot
 * change taints. After a gap of the watch, what one update did is not known: such removals are taken for losses.
 */
export interface RemovalSteps {
  /** Takes notice of one event of the watch: all of them, because later ones hide what one update did. */
  notice(change: Change<ClusterNode>): void;
  has(name: string, taint: Taint): boolean;
}

/** @param isProtected whether such a request is refused now: while policies only audit, every user can make it */
export function trackRemovalSteps(isProtected: (node: ClusterNode, taint: Taint) => boolean): RemovalSteps {
  const steps = new Map<string, readonly Taint[]>();

  return {
    notice(change) {
      const { name, uid, value } = change.entry;
      if (change.type !== 'modified' || change.previous.uid !== uid || value.allowRemoval === undefined) {
        steps.delete(name);
        return;
      }
      const { previous } = change;
      const after = parseAllowedRemovals(value.allowRemoval);
      const removed = change.isListed
        ? []
        : droppedTaints(previous.value.taints, value.taints).filter(
            (taint) => isRemovalNoted(after, taint) && isProtected(previous.value, taint),
          );
      // A taint that came back, with whatever value, may be lost later.
      const added = new Set(droppedTaints(value.taints, previous.value.taints).map(identity));
      const known = (steps.get(name) ?? []).filter((taint) => !added.has(identity(taint)));
      const all = [...known, ...removed];
      if (all.length === 0) steps.delete(name);
      else steps.set(name, all);
    },
    has: (name, taint) => steps.get(name)?.some((one) => formatTaint(one) === formatTaint(taint)) ?? false,
  };
}
