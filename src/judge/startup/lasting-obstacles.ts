import { type Taint, taintIdentity } from '../../kubernetes/taint.ts';
import type { Blocker } from './blocker.ts';

/** A startup taint that stays on a node for now, with the reasons. */
interface Waiting {
  readonly requirement: { readonly taint: Taint };
  readonly blockers: readonly Blocker[];
}

/**
 * The taints that keep the DaemonSets of a startup taint off a node, however long it waits: those that policies keep there, and startup taints that themselves
 * wait for what such taints keep off. Two startup taints may wait for each other like that. Without its own taint.
 * @param waiting all startup taints that wait on the node
 * @param isKept whether policies keep the taint, which is none of these, on the node
 */
export function lastingObstaclesOn(
  waiting: readonly Waiting[],
  isKept: (taint: Taint) => boolean,
): (one: Waiting) => readonly Taint[] {
  const taints = waiting.map(({ requirement, blockers }) => ({
    identity: taintIdentity(requirement.taint),
    obstacles: obstaclesIn(blockers).map((taint) => ({ identity: taintIdentity(taint), taint })),
  }));
  const startup = new Set(taints.map(({ identity }) => identity));
  /** The startup taints that nothing of that kind keeps on the node. */
  const ending = new Set<string>();
  const lasts = ({ identity, taint }: { readonly identity: string; readonly taint: Taint }) =>
    startup.has(identity) ? !ending.has(identity) : isKept(taint);
  for (let before = -1; before < ending.size; ) {
    before = ending.size;
    for (const { identity, obstacles } of taints) if (!obstacles.some(lasts)) ending.add(identity);
  }
  return ({ requirement, blockers }) => {
    const own = taintIdentity(requirement.taint);
    return obstaclesIn(blockers).filter((taint) => {
      const identity = taintIdentity(taint);
      return identity !== own && lasts({ identity, taint });
    });
  };
}

function obstaclesIn(blockers: readonly Blocker[]): Taint[] {
  return blockers.flatMap(({ untolerated = [] }) => untolerated);
}
