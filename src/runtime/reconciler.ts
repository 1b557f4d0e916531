import type { Logger } from 'pino';
import { createBackOff, toldToWaitMs } from './back-off.ts';
import { followFault } from './standing-fault.ts';

/** Brings something into its desired state, again and again. */
export interface Reconciler {
  /** Asks for a run, at once or in so many milliseconds. However often it is asked while one waits, there is one. */
  trigger(inMs?: number): void;
  /** Ends for good, once the run in progress has. */
  stop(): Promise<void>;
}

export interface ReconcilerOptions {
  /** For the log. */
  readonly name: string;
  /** One run, from the present state alone. It says in how many milliseconds to run again if nobody asks before; undefined: never. */
  readonly reconcile: () => Promise<number | undefined>;
  readonly log: Logger;
  /** Least time from the end of one run to the beginning of the next, in milliseconds. */
  readonly pauseMs?: number;
  readonly onResult?: (result: 'ok' | 'error') => void;
}

const FIRST_RETRY_MS = 200;
const LONGEST_RETRY_MS = 30_000;

/**
 * Runs once at the beginning and whenever asked, never two at a time. A run that fails is repeated after a time that doubles,
 * with jitter; the same failure is logged once.
 */
export function startReconciler({ name, reconcile, log, pauseMs = 0, onResult }: ReconcilerOptions): Reconciler {
  const backOff = createBackOff({ minMs: FIRST_RETRY_MS, maxMs: LONGEST_RETRY_MS });
  const fault = followFault(log, `${name}: it works again`);
  let timer: NodeJS.Timeout | undefined;
  /** When the next run is due, by performance.now(). */
  let due = Number.POSITIVE_INFINITY;
  /** Runs keep their distance, however often somebody asks. */
  let notBefore = 0;
  let running: Promise<void> | undefined;
  let stopped = false;

  ask(0);
  return {
    trigger: (inMs = 0) => ask(inMs),
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };

  function ask(inMs: number): void {
    due = Math.min(due, performance.now() + inMs);
    if (!running) arm();
  }

  function arm(): void {
    clearTimeout(timer);
    if (stopped || due === Number.POSITIVE_INFINITY) return;
    timer = setTimeout(begin, Math.max(0, Math.max(due, notBefore) - performance.now()));
  }

  function begin(): void {
    due = Number.POSITIVE_INFINITY;
    running = run().then(() => {
      running = undefined;
      arm();
    });
  }

  async function run(): Promise<void> {
    try {
      const againInMs = await reconcile();
      backOff.reset();
      fault.isOver();
      notBefore = performance.now() + pauseMs;
      onResult?.('ok');
      if (againInMs !== undefined) ask(againInMs);
    } catch (error) {
      // What was broken off is no failure.
      if (stopped) return;
      const { message } = error as Error;
      fault.is(message, `${name}: ${message}`);
      onResult?.('error');
      notBefore = performance.now() + backOff.next(toldToWaitMs(error));
      ask(0);
    }
  }
}
