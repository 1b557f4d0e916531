import { failedAtOnce, type RecoveryAttempt } from '../../recovery/recovery.ts';

interface KnownAttempt extends RecoveryAttempt {
  readonly podUid: string;
  failedAgain: boolean;
  /** The API server has confirmed the deletion. Otherwise it may or may not have happened. */
  done: boolean;
  /** An earlier attempt to delete the same pod, without an answer. */
  readonly unanswered: KnownAttempt | undefined;
}

/**
 * The attempts of this process to free pods. A place is a DaemonSet on a node. All times are of one monotonic clock, in milliseconds.
 */
export interface RecoveryHistory {
  /** Call it before the attempt, which counts even if there is no answer. Several attempts with the same pod count once. */
  tried(place: string, podUid: string, now: number): void;
  /** The pod was deleted. */
  done(place: string, podUid: string): void;
  /** The API server has refused the attempt, which does not count. An earlier one without an answer counts: it may be the cause. */
  refused(place: string, podUid: string): void;
  isDone(place: string, podUid: string): boolean;
  /** The attempts at this place with other pods. */
  attemptsWithOtherPods(place: string, podUid: string): readonly RecoveryAttempt[];
  /** Notes that a pod failed at once after an attempt. */
  failedAgain(place: string, failedAt: number, stuckMs: number): void;
  /** Forgets older attempts. */
  forget(ageMs: number, now: number): void;
}

export function createRecoveryHistory(): RecoveryHistory {
  const places = new Map<string, KnownAttempt[]>();
  const at = (place: string) => places.get(place) ?? [];
  const others = (place: string, podUid: string) => at(place).filter((attempt) => attempt.podUid !== podUid);
  const find = (place: string, podUid: string) => at(place).find((attempt) => attempt.podUid === podUid);
  return {
    tried(place, podUid, now) {
      const unanswered = find(place, podUid);
      const earlier = unanswered?.unanswered ?? unanswered;
      places.set(place, [
        ...others(place, podUid),
        { podUid, at: now, failedAgain: false, done: false, unanswered: earlier },
      ]);
    },
    done(place, podUid) {
      const attempt = find(place, podUid);
      if (attempt) attempt.done = true;
    },
    refused(place, podUid) {
      const earlier = find(place, podUid)?.unanswered;
      places.set(place, [...others(place, podUid), ...(earlier ? [earlier] : [])]);
    },
    isDone: (place, podUid) => find(place, podUid)?.done === true,
    attemptsWithOtherPods: others,
    failedAgain(place, failedAt, stuckMs) {
      for (const attempt of at(place)) attempt.failedAgain = failedAtOnce(attempt, failedAt, stuckMs);
    },
    forget(ageMs, now) {
      for (const [place, attempts] of places) {
        const left = attempts.filter((attempt) => now - attempt.at < ageMs);
        if (left.length === 0) places.delete(place);
        else places.set(place, left);
      }
    },
  };
}
