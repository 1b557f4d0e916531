import { randomUUID } from 'node:crypto';
import { longestSince, type Moment } from '../../runtime/moment.ts';
import { startTimer } from '../../runtime/timer.ts';
import type { LeaderTimings } from './leader-timings.ts';

/**
 * The identity of a process in the election: a restarted container keeps its pod's name, and must not take the lease of the process before it for its
 * own.
 */
export function newIdentity(replica: string): string {
  return `${replica}_${randomUUID()}`;
}

/** The replica's name within the identity. */
export function replicaOf(identity: string): string {
  return identity.replace(/_[^_]*$/, '');
}

/** Proof of being the leader, for work that must be done once. */
export interface Leadership {
  /** Aborted, with a {@link LeadershipLostError}, as soon as the lease is lost, released, or can no longer be renewed in time. */
  readonly signal: AbortSignal;
  /**
   * True while this process holds the lease with time to spare. Check it right before each write: no timer fires while a process is stopped, and
   * other callbacks may run first afterwards. The clocks show a pause at once. Of the two clocks, the one with more elapsed time counts, because a
   * suspended machine stops one of them.
   */
  held(): boolean;
  /** Milliseconds until another process may take the lease, at the earliest. 0 once it is no longer held. */
  remainingMs(): number;
}

/** This process is no longer the leader. The message says why. The next leader repeats the write. */
export class LeadershipLostError extends Error {
  override name = 'LeadershipLostError';
}

/** One term as the leader, from the elector's side. */
export interface Term extends Leadership {
  /** The lease was renewed. `asked` is when the request was sent: others cannot have seen its effect earlier. */
  renewed(asked: Moment): void;
  /** Ends the term, if it has not ended yet. The error becomes the signal's reason. */
  end(why: LeadershipLostError): void;
}

/** @param asked when the request that made this process the leader was sent */
export function beginTerm({ leaseDurationMs, renewDeadlineMs }: LeaderTimings, asked: Moment): Term {
  const ending = new AbortController();
  let renewedAt = asked;
  let deadline: NodeJS.Timeout | undefined;

  const end = (why: LeadershipLostError) => {
    clearTimeout(deadline);
    if (!ending.signal.aborted) ending.abort(why);
  };
  const held = () => {
    if (ending.signal.aborted) return false;
    const passedMs = longestSince(renewedAt);
    if (passedMs < renewDeadlineMs) return true;
    end(new LeadershipLostError(`the lease was not renewed for ${(passedMs / 1_000).toFixed(1)} s`));
    return false;
  };
  const watchDeadline = () => {
    clearTimeout(deadline);
    // Timers may fire a little early, by the clock that is read here.
    deadline = startTimer(() => held() && watchDeadline(), Math.max(1, renewDeadlineMs - longestSince(renewedAt)));
  };

  watchDeadline();
  return {
    signal: ending.signal,
    held,
    remainingMs: () => (held() ? leaseDurationMs - longestSince(renewedAt) : 0),
    renewed(at) {
      if (!held()) return;
      renewedAt = at;
      watchDeadline();
    },
    end,
  };
}
