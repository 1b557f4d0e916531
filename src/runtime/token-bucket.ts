import { pause } from './pause.ts';

/** Allows a burst, and then one at each interval. */
export interface TokenBucket {
  /** Takes one, if available. */
  take(): boolean;
  /** Milliseconds until one is available; 0 if it is. */
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
    // Whole milliseconds, as in timers: a fraction would cause repeated waits.
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

/**
 * Takes one from the bucket as soon as one is available.
 * @param bucketNow gives the bucket, which may be another one after a wait
 * @throws the signal's reason
 */
export async function takeToken(bucketNow: () => TokenBucket, signal?: AbortSignal): Promise<void> {
  while (!bucketNow().take()) {
    await pause(bucketNow().waitMs(), signal);
    signal?.throwIfAborted();
  }
}
