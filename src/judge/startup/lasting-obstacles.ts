import { type Taint, taintIdentity } from '../../kubernetes/taint.ts';
import type { Blocker, KeptOffDaemonSet } from './blocker.ts';
import type { StartupRequirement } from './startup-requirement.ts';

/** A startup taint that stays on a node for now, with the reasons. */
interface Waiting {
  readonly requirement: Pick<StartupRequirement, 'taint' | 'removeAfterMs' | 'unknownParts'>;
  readonly blockers: readonly Blocker[];
}

/**
 * The DaemonSets of a startup taint that taints keep off a node, however long it waits: taints that policies keep there, and startup taints that themselves
 * wait for what such taints keep off. Two startup taints may wait for each other like that. The taint that waits does not count, because another fault
 * reports it.
 * @param waiting all startup taints that wait on the node
 * @param isKept whether policies keep the taint, which is none of these, on the node
 */
export function lastingObstaclesOn(
  waiting: readonly Waiting[],
  isKept: (taint: Taint) => boolean,
): (one: Waiting) => readonly KeptOffDaemonSet[] {
  const identityOf = ({ requirement }: Waiting) => taintIdentity(requirement.taint);
  const startup = new Set(waiting.map(identityOf));
  /** The startup taints that go. */
  const ending = new Set(waiting.filter(isGivenUpLater).map(identityOf));
  const kept = new Map<string, boolean>();
  const isLasting = (taint: Taint) => {
    const identity = taintIdentity(taint);
    if (startup.has(identity)) return !ending.has(identity);
    const known = kept.get(identity) ?? isKept(taint);
    kept.set(identity, known);
    return known;
  };
  for (let before = -1; before < ending.size; ) {
    before = ending.size;
    for (const one of waiting) {
      if (!keptOffOf(one).some(({ by }) => by.some(isLasting))) ending.add(identityOf(one));
    }
  }
  return (one) => {
    if (isGivenUpLater(one)) return [];
    const own = identityOf(one);
    return keptOffOf(one).flatMap(({ name, by }) => {
      const lasting = by.filter((taint) => taintIdentity(taint) !== own && isLasting(taint));
      return lasting.length === 0 ? [] : { name, by: lasting };
    });
  };
}

/** Whether the policies remove the taint after their deadline. */
function isGivenUpLater({ requirement: { removeAfterMs, unknownParts } }: Waiting): boolean {
  return removeAfterMs !== undefined && unknownParts.length === 0;
}

function keptOffOf({ blockers }: Waiting): KeptOffDaemonSet[] {
  return blockers.flatMap(({ keptOff }) => keptOff ?? []);
}
