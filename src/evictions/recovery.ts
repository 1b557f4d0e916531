import { type DaemonSetView, optsOut } from '../judge/daemon-set.ts';
import type { Taint } from '../kubernetes/taint.ts';
import { isDeparting } from '../kubernetes/transient-taints.ts';
import type { CompiledRecoveryPolicy } from '../policy/recovery-policy.ts';

// All times here are in milliseconds, by one monotonic clock of the process that asks.

/** What is looked at before any policy is asked. */
export interface RecoveryScene {
  readonly pod: {
    /** uid of the DaemonSet that controls it. */
    readonly ownerUid: string;
    readonly deleting: boolean;
  };
  /** The DaemonSet of the owner's name, if there is one. */
  readonly daemonSet: { readonly uid: string; readonly value: DaemonSetView } | undefined;
  /** The node that the pod is bound to, if there is one. */
  readonly node: { readonly ready: boolean; readonly taints: readonly Taint[] } | undefined;
}

/**
 * Whether taintkeeper may delete a Failed pod. False while the pod is being deleted, when its DaemonSet does not exist or has opted
 * out, and on a node where the next pod would fail as well. While it is false, no time is counted.
 */
export function isRecoverable({ pod, daemonSet, node }: RecoveryScene): boolean {
  if (pod.deleting || daemonSet?.uid !== pod.ownerUid) return false;
  if (daemonSet.value.deleting || optsOut(daemonSet.value)) return false;
  // A kubelet that shuts down in good order sets Ready to False first.
  return node?.ready === true && !isDeparting(node.taints) && !isUnderPressure(node.taints);
}

/** Kubernetes' taints for a node on which the kubelet evicts pods, also those of DaemonSets, and rejects new ones. */
const PRESSURE_TAINT_KEYS: readonly string[] = [
  'node.kubernetes.io/disk-pressure',
  'node.kubernetes.io/memory-pressure',
  'node.kubernetes.io/pid-pressure',
];

function isUnderPressure(taints: readonly Taint[]): boolean {
  return taints.some(({ key }) => PRESSURE_TAINT_KEYS.includes(key));
}

/** One earlier time that a pod of the same DaemonSet on the same node was freed. */
export interface RecoveryAttempt {
  readonly at: number;
  /** Whether the pod after it was found to have failed at once. */
  readonly failedAgain: boolean;
}

export interface RecoveryCase {
  /** When this process saw first that the pod is Failed. */
  readonly failedAt: number;
  /** Since when it has been so and recoverable, see {@link isRecoverable}. */
  readonly since: number;
  /** Whether the kubelet evicted it because its node ran out of something: then it did not fail by itself. */
  readonly evicted: boolean;
  readonly attempts: readonly RecoveryAttempt[];
}

/** Why a pod that is stuck is left alone. */
export type LeftBecause =
  /** The policy only reports. */
  | 'Audit'
  /** The pod before it was freed, and this one failed at once: the back-off exists for that. */
  | 'PodFailsAgain'
  | 'RecoveryBudgetSpent';

export type RecoveryVerdict =
  | { readonly action: 'free' }
  | { readonly action: 'wait'; readonly forMs: number }
  /** `forMs`: how long at least; undefined: until something changes. */
  | { readonly action: 'leave'; readonly because: LeftBecause; readonly forMs?: number };

/** What a policy says of a pod that is Failed and recoverable. */
export function judgeFailedPod(
  { mode, stuckMs, budget }: CompiledRecoveryPolicy,
  { failedAt, since, evicted, attempts }: RecoveryCase,
  now: number,
): RecoveryVerdict {
  const stuckForMs = now - since;
  if (mode === 'Audit') return stuckForMs < stuckMs ? waitFor(stuckMs - stuckForMs) : leave('Audit');

  const spent = attempts.filter(({ at }) => now - at < budget.windowMs);
  const again = evicted ? [] : spent.filter((attempt) => failedAtOnce(attempt, failedAt, stuckMs));
  const [latest] = again.toSorted((a, b) => b.at - a.at);
  if (latest) return leave('PodFailsAgain', latest.at + budget.windowMs - now);

  if (stuckForMs < stuckMs) return waitFor(stuckMs - stuckForMs);
  if (spent.length >= budget.limit) {
    const oldest = Math.min(...spent.map(({ at }) => at));
    return leave('RecoveryBudgetSpent', oldest + budget.windowMs - now);
  }
  const delayMs = stuckMs * 2 ** spent.length;
  return stuckForMs < delayMs ? waitFor(delayMs - stuckForMs) : { action: 'free' };
}

/** One that was Failed already when an earlier one was freed is not its successor. */
export function failedAtOnce({ at, failedAgain }: RecoveryAttempt, failedAt: number, stuckMs: number): boolean {
  return failedAgain || (failedAt >= at && failedAt - at < stuckMs);
}

function waitFor(forMs: number): RecoveryVerdict {
  return { action: 'wait', forMs };
}

function leave(because: LeftBecause, forMs?: number): RecoveryVerdict {
  return { action: 'leave', because, ...(forMs === undefined ? {} : { forMs }) };
}

/** How far the pods of a DaemonSet have got, by its own status. */
export interface Rollout {
  readonly generation: number;
  /** True when its pods are replaced only once somebody deletes them. */
  readonly onDelete: boolean;
  readonly status: {
    readonly observedGeneration: number;
    readonly desired: number;
    /** Pods of the present template. */
    readonly updated: number;
    readonly unavailable: number;
  };
}

/**
 * Whether every pod is of the present template, but for as many as there are nodes that are not Ready, of those where it runs: one
 * that is dead must not hold up the others for ever. With OnDelete there is nothing to wait for.
 */
export function isRolledOut({ generation, onDelete, status }: Rollout, unreadyNodes: number): boolean {
  const { observedGeneration, desired, updated } = status;
  return observedGeneration >= generation && (onDelete || desired - updated <= unreadyNodes);
}

/** Whether it is rolled out, and its pods are available, with the same exception. */
export function isHealthy(rollout: Rollout, unreadyNodes: number): boolean {
  return isRolledOut(rollout, unreadyNodes) && rollout.status.unavailable <= unreadyNodes;
}
