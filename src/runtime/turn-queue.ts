import { startTimer } from './timer.ts';

/** Keys that wait in line. At each interval, the first one gets its turn. A key that leaves gives its place to those behind it. */
export interface TurnQueue {
  /**
   * The most milliseconds until the turn of the key, which is earlier if others leave. 0 once it has its turn, until {@link leave}. A key that is new
   * joins the end of the line, or gets its turn at once if it may.
   */
  dueInMs(key: string): number;
  /** The key needs no turn any more. If it is asked for again, it is new. */
  leave(key: string): void;
}

export interface TurnQueueOptions {
  /** The least time between two turns, in milliseconds. */
  readonly intervalMs: number;
  /** Called when the turn of a key has come that had to wait. */
  readonly onTurn: (key: string) => void;
  /** Once it is aborted, no key gets a turn. */
  readonly signal: AbortSignal;
}

export function turnQueue({ intervalMs, onTurn, signal }: TurnQueueOptions): TurnQueue {
  /** The numbers of the keys that wait, in order. Where keys have left, numbers are missing. */
  const waiting = new Map<string, number>();
  /** The keys that have their turn. */
  const admitted = new Set<string>();
  let joined = 0;
  /** By performance.now(). */
  let nextTurnAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });

  return {
    dueInMs(key) {
      if (admitted.has(key)) return 0;
      const now = performance.now();
      if (waiting.size === 0 && nextTurnAt <= now) {
        admit(key, now);
        return 0;
      }
      const place = waiting.get(key) ?? ++joined;
      waiting.set(key, place);
      timer ??= startNext(now);
      const [first = place] = waiting.values();
      // The timer may be late.
      return Math.max(1, Math.ceil(nextTurnAt - now) + (place - first) * intervalMs);
    },
    leave(key) {
      admitted.delete(key);
      waiting.delete(key);
    },
  };

  function admit(key: string, now: number): void {
    admitted.add(key);
    nextTurnAt = now + intervalMs;
  }

  function startNext(now: number): NodeJS.Timeout | undefined {
    return signal.aborted ? undefined : startTimer(giveTurn, nextTurnAt - now);
  }

  function giveTurn(): void {
    timer = undefined;
    const [first] = waiting.keys();
    if (first === undefined) return;
    const now = performance.now();
    waiting.delete(first);
    admit(first, now);
    if (waiting.size > 0) timer = startNext(now);
    onTurn(first);
  }
}
