/** Growing pauses between attempts. */
export interface BackOff {
  /** How long to wait before the next attempt, in milliseconds: at least `atLeastMs`, if the server named a time. */
  next(atLeastMs?: number): number;
  /** There was progress: the next pause is the shortest one again. */
  reset(): void;
}

/** Pauses that double from `minMs` to `maxMs`, each shortened at random to at least its half, so that replicas do not act at the same time. */
export function createBackOff({ minMs, maxMs }: { minMs: number; maxMs: number }): BackOff {
  let step = minMs;
  return {
    next(atLeastMs = 0) {
      const pause = step * (0.5 + Math.random() / 2);
      step = Math.min(step * 2, maxMs);
      return Math.max(pause, atLeastMs);
    },
    reset() {
      step = minMs;
    },
  };
}

/** How long the server said to wait, in milliseconds, if the error contains it; otherwise 0. */
export function retryAfterOf(error: unknown): number {
  const retryAfterMs = error instanceof Error && 'retryAfterMs' in error ? error.retryAfterMs : undefined;
  return typeof retryAfterMs === 'number' ? retryAfterMs : 0;
}
