/** When something was tried, by key. All times are those of one monotonic clock, in milliseconds. */
export interface Attempts {
  record(key: string, now: number): void;
  /** The attempts of the last `windowMs`, the oldest first. */
  within(key: string, windowMs: number, now: number): readonly number[];
  /** Forgets what is older than that, of all keys. */
  forget(windowMs: number, now: number): void;
}

export function createAttempts(): Attempts {
  const byKey = new Map<string, number[]>();
  return {
    record(key, now) {
      byKey.set(key, [...(byKey.get(key) ?? []), now]);
    },
    within: (key, windowMs, now) => (byKey.get(key) ?? []).filter((time) => now - time < windowMs),
    forget(windowMs, now) {
      for (const [key, times] of byKey) {
        const left = times.filter((time) => now - time < windowMs);
        if (left.length === 0) byKey.delete(key);
        else byKey.set(key, left);
      }
    },
  };
}

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
