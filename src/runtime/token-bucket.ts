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
