import type { Logger } from 'pino';
import { type BackOff, createBackOff, toldToWaitMs } from './back-off.ts';

/** Looks at one thing after the other, each by its key; never at one thing twice at a time. */
export interface WorkQueue {
  /**
   * Asks for a look, at once or in so many milliseconds. However often it is asked while one waits, there is one: the earliest,
   * or that after the last failure's pause.
   */
  add(key: string, inMs?: number): void;
  /** How many keys are due or being worked on; those that wait for their time are not counted. */
  depth(): number;
  /** Ends for good, once the work in progress has. */
  stop(): Promise<void>;
}

export interface WorkQueueOptions {
  /** For the log. */
  readonly name: string;
  /** One look, from the present state alone. It says in how many milliseconds to look again; undefined: when asked. */
  readonly work: (key: string) => Promise<number | undefined>;
  /** How many keys are worked on at the same time. */
  readonly concurrency: number;
  readonly log: Logger;
  readonly onResult?: (result: 'ok' | 'error') => void;
}

const FIRST_RETRY_MS = 200;
const LONGEST_RETRY_MS = 30_000;

/** Work that fails is repeated, for that key, after a time that doubles, with jitter. The log tells when it begins and when it is over. */
export function startWorkQueue({ name, work, concurrency, log, onResult }: WorkQueueOptions): WorkQueue {
  const waiting = new Map<string, { readonly timer: NodeJS.Timeout; readonly due: number }>();
  /** In the order in which they came. */
  const ready = new Set<string>();
  const running = new Map<string, Promise<void>>();
  const failing = new Map<string, BackOff>();
  let stopped = false;

  return {
    add,
    depth: () => new Set([...ready, ...running.keys()]).size,
    async stop() {
      stopped = true;
      for (const { timer } of waiting.values()) clearTimeout(timer);
      await Promise.all(running.values());
    },
  };

  function add(key: string, inMs = 0): void {
    if (stopped || ready.has(key)) return;
    const due = performance.now() + inMs;
    const earlier = waiting.get(key);
    // What fails is not tried more often because it changes often.
    if (earlier && (earlier.due <= due || failing.has(key))) return;
    clearTimeout(earlier?.timer);
    if (inMs > 0) {
      waiting.set(key, { timer: setTimeout(makeReady, inMs, key), due });
    } else {
      makeReady(key);
    }
  }

  function makeReady(key: string): void {
    waiting.delete(key);
    ready.add(key);
    begin();
  }

  function begin(): void {
    for (const key of ready) {
      if (stopped || running.size >= concurrency) return;
      // Asked for again while it is worked on: afterwards.
      if (running.has(key)) continue;
      ready.delete(key);
      // Not at once: the work may ask for its own key.
      const done = Promise.resolve(key)
        .then(run)
        .finally(() => {
          running.delete(key);
          begin();
        });
      running.set(key, done);
    }
  }

  async function run(key: string): Promise<void> {
    try {
      const againInMs = await work(key);
      if (failing.delete(key) && failing.size === 0) log.info(`${name}: it works again`);
      onResult?.('ok');
      if (againInMs !== undefined) add(key, againInMs);
    } catch (error) {
      // What was broken off is no failure.
      if (stopped) return;
      const backOff = failing.get(key) ?? createBackOff({ minMs: FIRST_RETRY_MS, maxMs: LONGEST_RETRY_MS });
      // Where one fails, a thousand others may, for the same reason.
      if (failing.size === 0) log.error(`${name}: ${key}: ${(error as Error).message}`);
      failing.set(key, backOff);
      onResult?.('error');
      // Nor because it was asked for meanwhile.
      ready.delete(key);
      clearTimeout(waiting.get(key)?.timer);
      waiting.delete(key);
      add(key, backOff.next(toldToWaitMs(error)));
    }
  }
}
