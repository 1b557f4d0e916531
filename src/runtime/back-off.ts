/** Growing pauses between attempts. */
export interface BackOff {
  /** How long to wait before the next attempt, in milliseconds: `atLeastMs`, if somebody has said that. */
  next(atLeastMs?: number): number;
  /** There was progress: the next pause is the shortest again. */
  reset(): void;
}

/** Pauses that double from `minMs` to `maxMs`, each shortened by chance to as little as its half, so that replicas part. */
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

/** How long whoever was asked said to wait, in milliseconds, where that is what an error says; otherwise 0. */
export function toldToWaitMs(error: unknown): number {
  const told = error instanceof Error && 'retryAfterMs' in error ? error.retryAfterMs : undefined;
  return typeof told === 'number' ? told : 0;
}
