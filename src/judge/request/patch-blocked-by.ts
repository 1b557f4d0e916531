import { type DaemonSetView, optsOut } from '../daemon-set-view.ts';

// Why is a running DaemonSet not patched? Some DaemonSets are exempt. The others are blocked by something, or due.

/** Why a DaemonSet is exempt: it is not reported either, and no other DaemonSet waits for its rollout. */
export type Exemption =
  /** It is in the namespace of taintkeeper. */
  | 'OwnNamespace'
  | 'OptedOut'
  | 'Deleting'
  /** Its latest version is too large to be kept, and a patch would be refused because it names an earlier one. */
  | 'NotKept';

/** @param isKept whether the cache has the latest version of the DaemonSet */
export function exemptionOf(
  daemonSet: Pick<DaemonSetView, 'namespace' | 'annotations' | 'deleting'>,
  { ownNamespace, isKept }: { readonly ownNamespace: string; readonly isKept: boolean },
): Exemption | undefined {
  if (daemonSet.namespace === ownNamespace) return 'OwnNamespace';
  if (optsOut(daemonSet)) return 'OptedOut';
  if (daemonSet.deleting) return 'Deleting';
  return isKept ? undefined : 'NotKept';
}

/** Why the leader does not add the missing tolerations to a DaemonSet that is not exempt. */
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
  readonly lacks: readonly unknown[];
  /** Whether another writer removed one of them after the leader had added it. */
  readonly isUndone: boolean;
  readonly tooManyTolerations: boolean;
  readonly rollout: { readonly stable: boolean; readonly stalled: boolean };
}

export interface PatchConditions {
  /** Whether the pause lasts that follows when the API server refuses the patch of the DaemonSet. */
  readonly isRefused: boolean;
  /** Whether a DaemonSet that was patched is not stable, or a patch may still arrive. */
  readonly isRollingOut: boolean;
  /** It is asked last, because its first call causes a request. */
  readonly isPermitted: () => boolean | undefined;
}

/**
 * What prevents the leader from patching the DaemonSet now. What lasts until somebody changes the DaemonSet comes first.
 * @returns undefined if it is due
 */
export function patchBlockedBy(
  { lacks, isUndone, tooManyTolerations, rollout }: PatchCandidate,
  { isRefused, isRollingOut, isPermitted }: PatchConditions,
): PatchBlockedBy | undefined {
  if (lacks.length === 0) return 'NothingMissing';
  if (isUndone) return 'RemovedAgain';
  if (tooManyTolerations) return 'TooManyTolerations';
  if (rollout.stalled) return 'Stalled';
  if (!rollout.stable) return 'Unstable';
  if (isRefused) return 'Refused';
  if (isRollingOut) return 'OtherRollout';
  return isPermitted() ? undefined : 'NotPermitted';
}

const LASTING: readonly PatchBlockedBy[] = ['NothingMissing', 'RemovedAgain', 'TooManyTolerations'];

/** Whether the leader will patch the DaemonSet without a change of its tolerations or annotations. */
export function isAwaitingPatch(blockedBy: PatchBlockedBy | undefined): boolean {
  return blockedBy === undefined || !LASTING.includes(blockedBy);
}
