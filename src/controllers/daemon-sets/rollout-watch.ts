import type { ClusterDaemonSet, ClusterNode } from '../../cluster/objects/cluster-objects.ts';
import { countCovered, type SchedulingView } from '../../scheduling/coverage.ts';
import { isHealthy, isRolledOut, type Rollout } from '../../scheduling/rollout.ts';

/** No object says whether a node is not Ready because of a rollout. After this time the rollout no longer counts as the cause: other DaemonSets wait for it. */
const SUSPECT_MS = 86_400_000;

type Rolling = Rollout & SchedulingView & Pick<ClusterDaemonSet, 'patchedAt'>;
type Unready = ReadonlyMap<string, ClusterNode>;

/** The state of a rollout, compared with earlier observations. */
export interface RolloutStatus {
  readonly rolledOut: boolean;
  /** The DaemonSet has been healthy for a while: a pod that crashes is ready in between. */
  readonly stable: boolean;
  /** The DaemonSet is not stable, and has made no progress for a long time. */
  readonly stalled: boolean;
  /** In how many milliseconds the state changes without an event. */
  readonly changesInMs: number;
}

/** One moment by two clocks, in milliseconds. */
export interface Times {
  /** On a monotonic clock. */
  readonly now: number;
  /** By the clock of the API server, since the epoch: it wrote when a DaemonSet was patched. */
  readonly apiTime: number;
}

export interface RolloutWatch {
  /** @param unready all nodes that are not Ready, by name */
  observe(uid: string, daemonSet: Rolling, unready: Unready, times: Times): RolloutStatus;
  /** Forgets all other DaemonSets. */
  retain(uids: ReadonlySet<string>): void;
}

interface History {
  readonly generation: number;
  /** Until then, the rollout may be what makes nodes not Ready. The time ends earlier once the DaemonSet is stable. */
  readonly suspectUntil: number;
  /** The nodes that are not Ready for another cause than the rollout. */
  readonly excused: Unready;
  readonly rolledOut: boolean;
  /** A change of it counts as progress. */
  readonly stage: string;
  /** The number changes while pods crash. Only a new minimum counts as progress. */
  readonly fewestUnavailable: number;
  readonly progressAt: number;
  readonly healthySince: number | undefined;
}

/** Compares rollouts from one observation to the next. */
export function watchRollouts({ stableMs, stalledMs }: { stableMs: number; stalledMs: number }): RolloutWatch {
  const histories = new Map<string, History>();
  return {
    observe(uid, daemonSet, unready, times) {
      const { now } = times;
      const history = continued(histories.get(uid), daemonSet, unready, times);
      const { healthySince, progressAt, suspectUntil, rolledOut } = history;
      const stable = healthySince !== undefined && now - healthySince >= stableMs;
      // The time without progress begins when a stable DaemonSet fails.
      histories.set(uid, stable ? { ...history, suspectUntil: now, progressAt: now } : history);
      const stalled = !stable && now - progressAt >= stalledMs;
      const waits = [
        ...(healthySince === undefined ? [] : [healthySince + stableMs]),
        progressAt + stalledMs,
        suspectUntil,
      ];
      return {
        rolledOut,
        stable,
        stalled,
        changesInMs: stable ? Number.POSITIVE_INFINITY : Math.min(...waits.filter((at) => at > now)) - now,
      };
    },
    retain(uids) {
      for (const uid of histories.keys()) if (!uids.has(uid)) histories.delete(uid);
    },
  };
}

function continued(before: History | undefined, daemonSet: Rolling, unready: Unready, times: Times): History {
  const { now } = times;
  const { generation, status } = daemonSet;
  const { observedGeneration, desired, updated, unavailable } = status;
  const { suspectUntil, isExcused } = before ? followed(before, generation, now) : takenOver(daemonSet, times);
  // New pods that break the network make nodes not Ready. Until the DaemonSet is stable, only nodes that were not Ready before the rollout are
  // excused.
  const excused = now < suspectUntil ? new Map([...unready].filter(([, node]) => isExcused(node))) : unready;
  const isMissing = desired > updated || unavailable > 0;
  const mayMiss = isMissing && excused.size > 0 ? countCovered(daemonSet, excused.values()) : 0;
  const stage = [generation, observedGeneration, updated].join('/');
  const same = before?.stage === stage ? before : undefined;
  return {
    generation,
    suspectUntil,
    excused,
    stage,
    rolledOut: isRolledOut(daemonSet, mayMiss),
    fewestUnavailable: Math.min(unavailable, same?.fewestUnavailable ?? unavailable),
    progressAt: same && unavailable >= same.fewestUnavailable ? same.progressAt : now,
    // The health of an earlier template does not count for a new one.
    healthySince: isHealthy(daemonSet, mayMiss) ? (same?.healthySince ?? now) : undefined,
  };
}

type Suspicion = Pick<History, 'suspectUntil'> & { readonly isExcused: (node: ClusterNode) => boolean };

function followed(before: History, generation: number, now: number): Suspicion {
  const suspectUntil = before.generation === generation ? before.suspectUntil : now + SUSPECT_MS;
  return { suspectUntil, isExcused: ({ name }) => before.excused.has(name) };
}

/** An earlier leader may have patched the DaemonSet, and only the objects say when. */
function takenOver({ patchedAt = 0 }: Rolling, { now, apiTime }: Times): Suspicion {
  const suspectUntil = now + patchedAt + SUSPECT_MS - apiTime;
  return { suspectUntil, isExcused: ({ unreadySince = 0 }) => unreadySince < patchedAt };
}
