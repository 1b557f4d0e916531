export interface LeaderTimings {
  /** How long others wait, after they have seen the Lease change for the last time, until they take it. Whole seconds. */
  readonly leaseDurationMs: number;
  /** How long the leader goes on without a renewal that succeeded. */
  readonly renewDeadlineMs: number;
  /** How often the leader renews. Others look twice as often, so that a lease that was given up is taken within about a second. */
  readonly retryPeriodMs: number;
}

/** Those of Kubernetes' own components (RecommendedDefaultLeaderElectionConfiguration of k8s.io/component-base). */
export const LEADER_TIMINGS: LeaderTimings = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 };

/** Spreads candidates, so that they do not all ask at once. */
const JITTER = 0.2;

/**
 * The timings with defaults filled in.
 * @throws RangeError unless lease > deadline > period: otherwise two could lead, or one would give up too soon
 */
export function leaderTimings(given: Partial<LeaderTimings> = {}): LeaderTimings {
  const timings = { ...LEADER_TIMINGS, ...given };
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = timings;
  const ordered = leaseDurationMs > renewDeadlineMs && renewDeadlineMs > retryPeriodMs && retryPeriodMs > 0;
  // A Lease counts in whole seconds, and one that said less than we take it for would be taken from us.
  if (!ordered || leaseDurationMs % 1_000 !== 0) {
    throw new RangeError(
      `leader election: expected lease (whole seconds) > deadline > period, got ${JSON.stringify(timings)}`,
    );
  }
  return timings;
}

/** How long a candidate waits until it looks again. */
export function candidatePause({ retryPeriodMs }: LeaderTimings): number {
  return (retryPeriodMs / 2) * (1 + Math.random() * JITTER);
}
