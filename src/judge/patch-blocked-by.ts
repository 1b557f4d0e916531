import { type DaemonSetView, optsOut } from './daemon-set-view.ts';

// A running DaemonSet is excluded, blocked or due.

/** Why a DaemonSet is excluded: it is not reported either, and no other DaemonSet waits for its rollout. */
type Exclusion =
  /** Policies do not apply: it opted out, or is in the namespace of taintkeeper. */
  | 'Excluded'
  /** It is being deleted, or its latest version is too large for the cache. The API server would refuse a patch of an earlier version. */
  | 'Unpatchable';

/** @param isKept whether the cache has the latest version of the DaemonSet */
export function exclusionOf(
  daemonSet: Pick<DaemonSetView, 'namespace' | 'annotations' | 'deleting'>,
  { ownNamespace, isKept }: { readonly ownNamespace: string; readonly isKept: boolean },
): Exclusion | undefined {
  if (daemonSet.namespace === ownNamespace || optsOut(daemonSet)) return 'Excluded';
  return daemonSet.deleting || !isKept ? 'Unpatchable' : undefined;
}

/** Why the leader does not add the missing tolerations to a DaemonSet that is not excluded. */
export type PatchBlockedBy =
  /** It lacks no toleration that a policy with `existing: Patch` requires. */
  | 'NothingMissing'
  /** Another writer removed a toleration that the leader had added. */
  | 'RemovedAgain'
  /** See `MAX_TOLERATIONS`. */
  | 'TooManyTolerations'
  /** It has not been healthy, and has made no progress, for a long time. */
  | 'Stalled'
  /** It has not been healthy for long enough. */
  | 'Unstable'
  /** The API server refused the same patch a short time ago. */
  | 'Refused'
  /** A DaemonSet that was patched is not stable yet, or a patch was not answered. */
  | 'OtherRollout'
  /** The leader may not patch DaemonSets, or does not know yet whether it may. The policies that need the right report it. */
  | 'NotPermitted';

/** What the leader knows of one DaemonSet. */
export interface PatchCandidate {
  /** The missing tolerations. */
  readonly missing: readonly unknown[];
  /** Whether another writer removed one of them after the leader had added it. */
  readonly isUndone: boolean;
  readonly tooManyTolerations: boolean;
  readonly rollout: { readonly stable: boolean; readonly stalled: boolean };
}

export interface PatchConditions {
  /** Whether the leader still pauses because the API server refused the patch of this DaemonSet. */
  readonly isRefused: boolean;
  /** Whether a patched DaemonSet is not stable yet, or a sent patch may still take effect. */
  readonly isRollingOut: boolean;
  /** Called last, because its first call sends a request. */
  readonly isPermitted: () => boolean | undefined;
}

/**
 * What prevents the leader from patching the DaemonSet now. Reasons that end only with a change of the DaemonSet come first.
 * @returns undefined if it is due
 */
export function patchBlockedBy(
  { missing, isUndone, tooManyTolerations, rollout }: PatchCandidate,
  { isRefused, isRollingOut, isPermitted }: PatchConditions,
): PatchBlockedBy | undefined {
  if (missing.length === 0) return 'NothingMissing';
  if (isUndone) return 'RemovedAgain';
  if (tooManyTolerations) return 'TooManyTolerations';
  if (rollout.stalled) return 'Stalled';
  if (!rollout.stable) return 'Unstable';
  if (isRefused) return 'Refused';
  if (isRollingOut) return 'OtherRollout';
  return isPermitted() ? undefined : 'NotPermitted';
}

const LASTING: readonly PatchBlockedBy[] = ['NothingMissing', 'RemovedAgain', 'TooManyTolerations'];

/** Whether it lacks tolerations that the leader will add once nothing blocks the patch. */
export function isAwaitingPatch(blockedBy: PatchBlockedBy | undefined): boolean {
  return blockedBy === undefined || !LASTING.includes(blockedBy);
}
