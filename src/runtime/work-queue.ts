import type { Logger } from 'pino';
import { type BackOff, createBackOff, toldToWaitMs } from './back-off.ts';
import { followFault } from './standing-fault.ts';
import { startTimer } from './timer.ts';

/** A deduplicating work queue: one worker for each key at a time. */
export interface WorkQueue {
  /**
   * Adds the key, to be processed at once or in so many milliseconds. A waiting key is processed once: at the earliest requested time, or after the
   * pause of its last failure.
   */
  add(key: string, inMs?: number): void;
  /**
   * The same, after the input of the work has changed: the pause after failures starts again at its shortest. A pause that the error itself requested
   * stays.
   */
  restart(key: string, inMs?: number): void;
  /** How many keys are due or being processed. Keys that wait for their time do not count. */
  depth(): number;
  /** Stops for good, after the work in progress. */
  stop(): Promise<void>;
}

interface QueueOptions {
  /** For the log. */
  readonly name: string;
  readonly log: Logger;
  readonly onResult?: (result: 'ok' | 'error') => void;
  /** Once it is aborted, no work starts, and errors are ignored. */
  readonly signal?: AbortSignal;
}

export interface WorkQueueOptions extends QueueOptions {
  /** Processes a key from the current state. Returns in how many milliseconds to process it again; undefined: on request. */
  readonly work: (key: string) => Promise<number | undefined>;
  /** How many keys are worked on at the same time. */
  readonly concurrency: number;
}

/** Failed work is repeated for that key after a time that doubles, with jitter. The log shows when the failures begin and end. */
export function startWorkQueue({ log, ...options }: WorkQueueOptions): WorkQueue {
  const { name } = options;
  const fault = followFault({ warn: (text) => log.error(text), info: (text) => log.info(text) }, recovered(name));
  return startQueue({
    ...options,
    pauseMs: 0,
    // If one key fails, a thousand others may fail for the same reason.
    onFailure: (key, message) => fault.is('it fails', `${name}: ${key}: ${message}`),
    onRecovered: fault.isOver,
  });
}

/** Reconciles a state repeatedly. */
export interface Reconciler {
  /** Requests a run, at once or in so many milliseconds. Requests while one waits are merged. */
  trigger(inMs?: number): void;
  /** The same, after the input of a run has changed; see {@link WorkQueue.restart}. */
  restart(inMs?: number): void;
  /** Stops for good, after the run in progress. */
  stop(): Promise<void>;
}

export interface ReconcilerOptions extends QueueOptions {
  /** One run, from the current state. Returns in how many milliseconds to run again without a request; undefined: never. */
  readonly reconcile: () => Promise<number | undefined>;
  /** Minimum time from the end of one run to the start of the next, in milliseconds. */
  readonly pauseMs?: number;
}

/**
 * A queue with one key: runs once at the start and on request, one run at a time. A failed run is repeated after a time that doubles, with jitter.
 * The same failure is logged once.
 */
export function startReconciler({ reconcile, log, pauseMs = 0, ...options }: ReconcilerOptions): Reconciler {
  const { name } = options;
  const fault = followFault(log, recovered(name));
  const queue = startQueue({
    ...options,
    work: reconcile,
    concurrency: 1,
    pauseMs,
    onFailure: (_key, message) => fault.is(message, `${name}: ${message}`),
    onRecovered: fault.isOver,
  });
  // By a timer, also at once: requests of the same moment are one run.
  const trigger = (inMs = 0) => queue.add('', inMs);
  trigger();
  return { trigger, restart: (inMs = 0) => queue.restart('', inMs), stop: queue.stop };
}

const recovered = (name: string) => `${name}: it works again`;

const FIRST_RETRY_MS = 200;
const LONGEST_RETRY_MS = 30_000;

const AT_ONCE = Number.NEGATIVE_INFINITY;
const NEVER = Number.POSITIVE_INFINITY;

/** The state of a key. Times are of performance.now(). */
interface Item {
  /** When the key is due, or {@link NEVER}: on request. */
  due: number;
  /** The earliest time of the next run, whatever is requested. */
  notBefore: number;
  /** After a failure: also for work that {@link WorkQueue.restart} requests. */
  notRestartedBefore: number;
  timer: NodeJS.Timeout | undefined;
  /** While it fails. */
  backOff: BackOff | undefined;
}

function newItem(): Item {
  return { due: NEVER, notBefore: AT_ONCE, notRestartedBefore: AT_ONCE, timer: undefined, backOff: undefined };
}

interface StartOptions extends Omit<WorkQueueOptions, 'log'> {
  /** Minimum time from the end of one run to the start of the next for the same key, in milliseconds. */
  readonly pauseMs: number;
  readonly onFailure: (key: string, message: string) => void;
  /** No key fails any more. */
  readonly onRecovered: () => void;
}

function startQueue(options: StartOptions): WorkQueue {
  const { work, concurrency, pauseMs, signal, onResult, onFailure, onRecovered } = options;
  const items = new Map<string, Item>();
  /** The due keys, in the order in which they became due. */
  const ready = new Set<string>();
  const running = new Map<string, Promise<void>>();
  let failing = 0;
  let stopped = false;

  const end = () => {
    stopped = true;
    for (const { timer } of items.values()) clearTimeout(timer);
  };
  if (signal?.aborted) end();
  else signal?.addEventListener('abort', end, { once: true });

  return {
    add,
    restart,
    depth: () => new Set([...ready, ...running.keys()]).size,
    async stop() {
      signal?.removeEventListener('abort', end);
      end();
      await Promise.all(running.values());
    },
  };

  function add(key: string, inMs?: number): void {
    if (stopped || ready.has(key)) return;
    const item = items.get(key) ?? newItem();
    items.set(key, item);
    const due = inMs === undefined ? AT_ONCE : performance.now() + inMs;
    if (due >= item.due) return;
    item.due = due;
    // Requested while it is processed: runs afterwards.
    if (!running.has(key)) arm(key, item);
  }

  function restart(key: string, inMs = 0): void {
    const item = items.get(key);
    item?.backOff?.reset();
    // Never later than before: frequent requests would otherwise postpone the work forever.
    if (item?.backOff && !running.has(key) && !ready.has(key)) {
      item.notBefore = Math.min(item.notBefore, Math.max(item.notRestartedBefore, performance.now() + inMs));
      arm(key, item);
    }
    add(key, inMs);
  }

  function arm(key: string, item: Item): void {
    clearTimeout(item.timer);
    if (stopped) return;
    const at = Math.max(item.due, item.notBefore);
    if (at === AT_ONCE) makeReady(key);
    // An early run is harmless: it says when to run again.
    else item.timer = startTimer(() => makeReady(key), at - performance.now());
  }

  function makeReady(key: string): void {
    ready.add(key);
    begin();
  }

  function begin(): void {
    for (const key of ready) {
      if (stopped || running.size >= concurrency) return;
      ready.delete(key);
      const item = items.get(key) as Item;
      item.due = NEVER;
      // Not at once: the work may request its own key.
      const done = Promise.resolve()
        .then(() => look(key, item))
        .finally(() => {
          running.delete(key);
          if (item.due < NEVER) arm(key, item);
          else if (!item.backOff && pauseMs === 0) items.delete(key);
          begin();
        });
      running.set(key, done);
    }
  }

  async function look(key: string, item: Item): Promise<void> {
    try {
      const againInMs = await work(key);
      if (item.backOff && --failing === 0) onRecovered();
      item.backOff = undefined;
      item.notBefore = pauseMs === 0 ? AT_ONCE : performance.now() + pauseMs;
      onResult?.('ok');
      if (againInMs !== undefined) add(key, againInMs);
    } catch (error) {
      // Aborted work is no failure.
      if (stopped) return;
      if (!item.backOff) failing++;
      item.backOff ??= createBackOff({ minMs: FIRST_RETRY_MS, maxMs: LONGEST_RETRY_MS });
      onFailure(key, (error as Error).message);
      onResult?.('error');
      // Also not earlier because of a request meanwhile.
      const toldMs = toldToWaitMs(error);
      item.notBefore = performance.now() + item.backOff.next(toldMs);
      item.notRestartedBefore = performance.now() + Math.max(FIRST_RETRY_MS, toldMs);
      add(key);
    }
  }
}
