const EVERY_MS = 10_000;

/**
 * For what may happen thousands of times: calls `say` the first time, and then at most every ten seconds.
 * @param say is told how often it happened since it was last called
 */
export function throttle(say: (times: number) => void): () => void {
  let saidAt = Number.NEGATIVE_INFINITY;
  let times = 0;
  return () => {
    times++;
    if (performance.now() - saidAt < EVERY_MS) return;
    saidAt = performance.now();
    say(times);
    times = 0;
  };
}

/** Lets a burst pass, and then one each time that some time has gone by. */
export interface TokenBucket {
  /** Takes one if there is one. */
  take(): boolean;
  /** Milliseconds until there is one; 0 when there is. */
  waitMs(): number;
}

export function tokenBucket(burst: number, refillMs: number): TokenBucket {
  let tokens = burst;
  let countedAt = performance.now();

  function count(): void {
    const now = performance.now();
    tokens = Math.min(burst, tokens + (now - countedAt) / refillMs);
    countedAt = now;
  }

  const waitMs = () => {
    count();
    // Whole milliseconds, as timers have them: a fraction would be waited for again and again.
    return tokens >= 1 ? 0 : Math.ceil((1 - tokens) * refillMs);
  };
  return {
    take() {
      if (waitMs() > 0) return false;
      tokens--;
      return true;
    },
    waitMs,
  };
}
