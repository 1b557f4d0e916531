export interface LeaderTimings {
  /** How long others wait after the last seen change of the Lease until they take it. Whole seconds. */
  readonly leaseDurationMs: number;
  /** How long the leader continues without a successful renewal. */
  readonly renewDeadlineMs: number;
  /** How often the leader renews. Others check twice as often, so that a released lease is taken within about a second. */
  readonly retryPeriodMs: number;
}

/** The timings of Kubernetes' own components (RecommendedDefaultLeaderElectionConfiguration of k8s.io/component-base). */
export const LEADER_TIMINGS: LeaderTimings = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 };

/**
 * How long a takeover lasts after a crash, apart from jitter: the time of the Lease, and twice the pause between two checks of a candidate, until it sees the last
 * renewal and until it sees the end.
 */
export const TAKEOVER_MS = LEADER_TIMINGS.leaseDurationMs + LEADER_TIMINGS.retryPeriodMs;

/** Spreads candidates, so that they do not all send requests at once. */
const JITTER = 0.2;

/**
 * The timings with defaults filled in.
 * @throws RangeError unless lease > deadline > period: otherwise two could lead, or one would release too early
 */
export function leaderTimings(given: Partial<LeaderTimings> = {}): LeaderTimings {
  const timings = { ...LEADER_TIMINGS, ...given };
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = timings;
  const ordered = leaseDurationMs > renewDeadlineMs && renewDeadlineMs > retryPeriodMs && retryPeriodMs > 0;
  // A Lease has whole seconds. If it contained fewer than this process assumes, another one would take it.
  if (!ordered || leaseDurationMs % 1_000 !== 0) {
    throw new RangeError(
      `leader election: expected lease (whole seconds) > deadline > period, got ${JSON.stringify(timings)}`,
    );
  }
  return timings;
}

/** How long a candidate waits until it checks again. */
export function candidatePause({ retryPeriodMs }: LeaderTimings): number {
  return (retryPeriodMs / 2) * (1 + Math.random() * JITTER);
}
