import type { LeaderTimings } from './leader-timings.ts';
import { longestSince, type Moment } from './moment.ts';

/** Proof of being the leader, given to what must be done once. */
export interface Leadership {
  /** Aborted, with a {@link LeadershipLostError}, as soon as the lease is lost, given up, or can no longer be renewed in time. */
  readonly signal: AbortSignal;
  /**
   * True while the lease is held by this process with time to spare. To be asked right before each write: no timer fires
   * while a process is stopped, and after it goes on others may be served first. A pause shows in the clocks at once:
   * whichever of the two says that more time has passed is believed, because a suspended machine stops one of them.
   */
  held(): boolean;
  /** Milliseconds until somebody else may take the lease, at the earliest; 0 once it is no longer held. */
  remainingMs(): number;
}

/** This process is no longer the leader; the message says why. What it was about to write is now for another one to do. */
export class LeadershipLostError extends Error {
  override name = 'LeadershipLostError';
}

/** One time of being the leader, from the elector's side. */
export interface Term extends Leadership {
  /** The lease was renewed. `asked` is when the request was sent: others cannot have seen its effect any earlier. */
  renewed(asked: Moment): void;
  /** Ends the term, if it has not ended yet; the error becomes the signal's reason. */
  end(why: LeadershipLostError): void;
}

/** @param asked when the request was sent that made this process the leader */
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
    // Timers may fire a little early, by the clock that is asked.
    deadline = setTimeout(() => held() && watchDeadline(), Math.max(1, renewDeadlineMs - longestSince(renewedAt)));
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
