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
