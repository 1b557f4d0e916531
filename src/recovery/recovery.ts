import { type DaemonSetView, isLeftAlone } from '../judge/daemon-set-view.ts';
import type { Taint } from '../kubernetes/taint.ts';
import { isDeparting, isUnderPressure } from '../kubernetes/transient-taints.ts';
import type { CompiledRecoveryPolicy, RecoveryTimings } from '../policy/recovery-policy.ts';

// All times here are in milliseconds, by one monotonic clock of the process that asks.

/** What is checked before any policy. */
export interface RecoveryScene {
  readonly pod: {
    /** uid of the DaemonSet that controls it. */
    readonly ownerUid: string;
    readonly deleting: boolean;
  };
  /** The DaemonSet with the owner's name, if it exists. */
  readonly daemonSet: { readonly uid: string; readonly value: DaemonSetView } | undefined;
  /** The node that the pod is bound to, if there is one. */
  readonly node: { readonly ready: boolean; readonly taints: readonly Taint[] } | undefined;
}

/**
 * Whether taintkeeper may delete a Failed pod. False while the pod is being deleted, if its DaemonSet does not exist or has opted out, and on a node
 * where the next pod would fail as well. The time does not count while it is false.
 */
export function isRecoverable({ pod, daemonSet, node }: RecoveryScene): boolean {
  if (pod.deleting || daemonSet?.uid !== pod.ownerUid) return false;
  if (isLeftAlone(daemonSet.value)) return false;
  // A kubelet that shuts down gracefully sets Ready to False first.
  return node?.ready === true && !isDeparting(node.taints) && !isUnderPressure(node.taints);
}

/** An earlier deletion of a pod of the same DaemonSet on the same node. */
export interface RecoveryAttempt {
  readonly at: number;
  /** Whether the next pod failed at once. */
  readonly failedAgain: boolean;
}

export interface RecoveryCase {
  /** When this process first saw that the pod is Failed. */
  readonly failedAt: number;
  /** Since when it has been Failed and recoverable, see {@link isRecoverable}. */
  readonly since: number;
  /** Whether the kubelet evicted it because its node ran out of a resource: then the pod did not fail by itself. */
  readonly evicted: boolean;
  readonly attempts: readonly RecoveryAttempt[];
}

/** Why a stuck pod is not deleted. */
export type LeftBecause =
  /** The policy only reports. */
  | 'Audit'
  /** This one failed at once after the pod before it was deleted: the back-off exists for that. */
  | 'PodFailsAgain'
  | 'RecoveryBudgetSpent';

export type RecoveryDecision =
  | { readonly action: 'free' }
  | { readonly action: 'wait'; readonly forMs: number }
  /** `forMs`: for at least that long; undefined: until something changes. */
  | { readonly action: 'leave'; readonly because: LeftBecause; readonly forMs?: number };

/** The decision of a policy about a pod that is Failed and recoverable. */
export function judgeFailedPod(
  { mode }: Pick<CompiledRecoveryPolicy, 'mode'>,
  { stuckMs, limit, windowMs }: RecoveryTimings,
  { failedAt, since, evicted, attempts }: RecoveryCase,
  now: number,
): RecoveryDecision {
  const stuckForMs = now - since;
  if (mode === 'Audit') return stuckForMs < stuckMs ? waitFor(stuckMs - stuckForMs) : leave('Audit');

  const spent = attempts.filter(({ at }) => now - at < windowMs);
  const again = evicted ? [] : spent.filter((attempt) => failedAtOnce(attempt, failedAt, stuckMs));
  const [latest] = again.toSorted((a, b) => b.at - a.at);
  if (latest) return leave('PodFailsAgain', latest.at + windowMs - now);

  if (stuckForMs < stuckMs) return waitFor(stuckMs - stuckForMs);
  if (spent.length >= limit) {
    const oldest = Math.min(...spent.map(({ at }) => at));
    return leave('RecoveryBudgetSpent', oldest + windowMs - now);
  }
  const delayMs = stuckMs * 2 ** spent.length;
  return stuckForMs < delayMs ? waitFor(delayMs - stuckForMs) : { action: 'free' };
}

/** A pod that was already Failed when an earlier one was deleted is not its successor. */
export function failedAtOnce({ at, failedAgain }: RecoveryAttempt, failedAt: number, stuckMs: number): boolean {
  return failedAgain || (failedAt >= at && failedAt - at < stuckMs);
}

function waitFor(forMs: number): RecoveryDecision {
  return { action: 'wait', forMs };
}

function leave(because: LeftBecause, forMs?: number): RecoveryDecision {
  return { action: 'leave', because, ...(forMs === undefined ? {} : { forMs }) };
}
