import type { ClusterNode } from '../../cluster/cluster-objects.ts';
import { countCovered, type SchedulingView } from '../../coverage/coverage.ts';
import { isHealthy, isRolledOut, type Rollout } from '../../evictions/recovery.ts';

type Rolling = Rollout & SchedulingView;
type Unready = ReadonlyMap<string, ClusterNode>;

/** How a rollout stands, in view of how it stood before. */
export interface RolloutStatus {
  readonly rolledOut: boolean;
  /** It has been healthy for a while: a pod that crashes looks well in between. */
  readonly stable: boolean;
  /** It is not stable, and has made no progress for a long time. */
  readonly stalled: boolean;
  /** When this changes if nothing else does, in milliseconds. */
  readonly changesInMs: number;
}

export interface RolloutWatch {
  /**
   * @param unready all nodes that are not Ready, by name
   * @param now on a monotonic clock, in milliseconds
   */
  observe(uid: string, daemonSet: Rolling, unready: Unready, now: number): RolloutStatus;
  /** Forgets all others. */
  retain(uids: ReadonlySet<string>): void;
}

interface History {
  readonly generation: number;
  /** The template was seen to change, and has not been stable since. */
  readonly unproven: boolean;
  /** The nodes that are not Ready through no fault of the rollout. */
  readonly excused: Unready;
  readonly rolledOut: boolean;
  /** What counts as progress when it changes. */
  readonly stage: string;
  /** Pods come and go while they crash: only fewer than ever before is progress, too. */
  readonly fewestUnavailable: number;
  readonly progressAt: number;
  readonly healthySince: number | undefined;
}

/** Follows rollouts from look to look. What it has not seen yet begins with the first one. */
export function watchRollouts({ stableMs, stalledMs }: { stableMs: number; stalledMs: number }): RolloutWatch {
  const histories = new Map<string, History>();
  return {
    observe(uid, daemonSet, unready, now) {
      const history = continued(histories.get(uid), daemonSet, unready, now);
      const { healthySince, progressAt, rolledOut } = history;
      const stable = healthySince !== undefined && now - healthySince >= stableMs;
      // What goes wrong later has only then begun to.
      histories.set(uid, stable ? { ...history, unproven: false, progressAt: now } : history);
      const stalled = !stable && now - progressAt >= stalledMs;
      const waits = [...(healthySince === undefined ? [] : [healthySince + stableMs]), progressAt + stalledMs];
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

function continued(before: History | undefined, daemonSet: Rolling, unready: Unready, now: number): History {
  const { generation, status } = daemonSet;
  const { observedGeneration, desired, updated, unavailable } = status;
  const unproven = before !== undefined && (before.unproven || before.generation !== generation);
  // A network that the new pods have broken makes nodes not Ready, too: until it is stable, only those that were so before
  // it began are no fault of it.
  const excused = unproven ? new Map([...unready].filter(([name]) => before.excused.has(name))) : unready;
  const isMissing = desired > updated || unavailable > 0;
  const mayMiss = isMissing ? countCovered(daemonSet, excused.values()) : 0;
  const stage = [generation, observedGeneration, updated].join('/');
  const same = before?.stage === stage ? before : undefined;
  return {
    ...{ generation, unproven, excused, stage },
    rolledOut: isRolledOut(daemonSet, mayMiss),
    fewestUnavailable: Math.min(unavailable, same?.fewestUnavailable ?? unavailable),
    progressAt: same && unavailable >= same.fewestUnavailable ? same.progressAt : now,
    // A new template is not healthy because the one before was.
    healthySince: isHealthy(daemonSet, mayMiss) ? (same?.healthySince ?? now) : undefined,
  };
}
