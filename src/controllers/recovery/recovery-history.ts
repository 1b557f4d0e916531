import { failedAtOnce, type RecoveryAttempt } from '../../evictions/recovery.ts';

/** An attempt, and the pod that it was to free, by its uid. */
interface KnownAttempt extends RecoveryAttempt {
  readonly what: string;
  failedAgain: boolean;
  /** The API server has said so; otherwise it may or may not have happened. */
  done: boolean;
  /** An earlier try of the same of which nobody knows whether it happened. */
  readonly unanswered: KnownAttempt | undefined;
}

/**
 * What was freed where, as long as this process remembers. A place is a DaemonSet on a node. All times are those
 * of one monotonic clock, in milliseconds.
 */
export interface RecoveryHistory {
  /** To be called before it is tried: whatever becomes of the answer, it counts. Trying the same again counts once. */
  tried(place: string, what: string, now: number): void;
  /** It was done. */
  done(place: string, what: string): void;
  /** The API server has refused: this try does not count. An earlier one without an answer does: it may be why. */
  refused(place: string, what: string): void;
  isDone(place: string, what: string): boolean;
  /** All at this place, but for those of the thing itself. */
  before(place: string, what: string): readonly RecoveryAttempt[];
  /** Notes that a pod failed at once after an attempt. */
  failedAgain(place: string, failedAt: number, stuckMs: number): void;
  /** Forgets what is older than that. */
  forget(ageMs: number, now: number): void;
}

export function createRecoveryHistory(): RecoveryHistory {
  const places = new Map<string, KnownAttempt[]>();
  const at = (place: string) => places.get(place) ?? [];
  const others = (place: string, what: string) => at(place).filter((attempt) => attempt.what !== what);
  const find = (place: string, what: string) => at(place).find((attempt) => attempt.what === what);
  return {
    tried(place, what, now) {
      const unanswered = find(place, what);
      const earlier = unanswered?.unanswered ?? unanswered;
      places.set(place, [
        ...others(place, what),
        { what, at: now, failedAgain: false, done: false, unanswered: earlier },
      ]);
    },
    done(place, what) {
      const attempt = find(place, what);
      if (attempt) attempt.done = true;
    },
    refused(place, what) {
      const earlier = find(place, what)?.unanswered;
      places.set(place, [...others(place, what), ...(earlier ? [earlier] : [])]);
    },
    isDone: (place, what) => find(place, what)?.done === true,
    before: others,
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
