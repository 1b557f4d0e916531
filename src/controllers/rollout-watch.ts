import { isHealthy, isRolledOut, type Rollout } from '../policy/rollout.ts';

/** How a rollout stands, in view of how it stood before. */
export interface RolloutStanding {
  readonly rolledOut: boolean;
  /** It has been healthy for a while: a pod that crashes looks well in between. */
  readonly settled: boolean;
  /** It is not settled, and has made no progress for a long time. */
  readonly stalled: boolean;
  /** When this changes if nothing else does, in milliseconds. */
  readonly changesInMs: number;
}

export interface RolloutWatch {
  /** @param now on a monotonic clock, in milliseconds */
  look(uid: string, rollout: Rollout, unreadyNodes: number, now: number): RolloutStanding;
  /** Forgets all others. */
  retain(uids: ReadonlySet<string>): void;
}

interface History {
  /** What counts as progress when it changes. */
  readonly stage: string;
  /** Pods come and go while they crash: only fewer than ever before is progress, too. */
  readonly fewestUnavailable: number;
  readonly progressAt: number;
  readonly healthySince: number | undefined;
}

/** Follows rollouts from look to look. What it has not seen yet begins with the first one. */
export function watchRollouts({ settleMs, stalledMs }: { settleMs: number; stalledMs: number }): RolloutWatch {
  const histories = new Map<string, History>();
  return {
    look(uid, rollout, unreadyNodes, now) {
      const history = continued(histories.get(uid), rollout, isHealthy(rollout, unreadyNodes), now);
      const { healthySince, progressAt } = history;
      const settled = healthySince !== undefined && now - healthySince >= settleMs;
      // What goes wrong later has only then begun to.
      histories.set(uid, settled ? { ...history, progressAt: now } : history);
      const stalled = !settled && now - progressAt >= stalledMs;
      const waits = [...(healthySince === undefined ? [] : [healthySince + settleMs]), progressAt + stalledMs];
      return {
        rolledOut: isRolledOut(rollout, unreadyNodes),
        settled,
        stalled,
        changesInMs: settled ? Number.POSITIVE_INFINITY : Math.min(...waits.filter((at) => at > now)) - now,
      };
    },
    retain(uids) {
      for (const uid of histories.keys()) if (!uids.has(uid)) histories.delete(uid);
    },
  };
}

function continued(before: History | undefined, rollout: Rollout, healthy: boolean, now: number): History {
  const { observedGeneration, updated, unavailable } = rollout.status;
  const stage = [rollout.generation, observedGeneration, updated].join('/');
  const same = before?.stage === stage ? before : undefined;
  return {
    stage,
    fewestUnavailable: Math.min(unavailable, same?.fewestUnavailable ?? unavailable),
    progressAt: same && unavailable >= same.fewestUnavailable ? same.progressAt : now,
    // A new template is not healthy because the one before was.
    healthySince: healthy ? (same?.healthySince ?? now) : undefined,
  };
}
