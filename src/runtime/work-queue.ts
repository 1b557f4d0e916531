import type { Logger } from 'pino';
import { type BackOff, createBackOff, toldToWaitMs } from './back-off.ts';
import { followFault } from './standing-fault.ts';
import { startTimer } from './timer.ts';

/** Looks at one thing after the other, each by its key; never at one thing twice at a time. */
export interface WorkQueue {
  /**
   * Asks for a look, at once or in so many milliseconds. However often it is asked while one waits, there is one: the earliest,
   * or that after the last failure's pause.
   */
  add(key: string, inMs?: number): void;
  /**
   * The same, where what the work is made from has changed: the pause after failures begins again at its shortest. A pause that the
   * error itself has asked for is kept.
   */
  restart(key: string, inMs?: number): void;
  /** How many keys are due or being worked on; those that wait for their time are not counted. */
  depth(): number;
  /** Ends for good, once the work in progress has. */
  stop(): Promise<void>;
}

interface QueueOptions {
  /** For the log. */
  readonly name: string;
  readonly log: Logger;
  readonly onResult?: (result: 'ok' | 'error') => void;
  /** Nothing begins any more once it is aborted, and what fails then is no failure. */
  readonly signal?: AbortSignal;
}

export interface WorkQueueOptions extends QueueOptions {
  /** One look, from the present state alone. It says in how many milliseconds to look again; undefined: when asked. */
  readonly work: (key: string) => Promise<number | undefined>;
  /** How many keys are worked on at the same time. */
  readonly concurrency: number;
}

/** Work that fails is repeated, for that key, after a time that doubles, with jitter. The log tells when it begins and when it is over. */
export function startWorkQueue({ log, ...options }: WorkQueueOptions): WorkQueue {
  const { name } = options;
  const fault = followFault({ warn: (text) => log.error(text), info: (text) => log.info(text) }, recovered(name));
  return startQueue({
    ...options,
    pauseMs: 0,
    // Where one fails, a thousand others may, for the same reason.
    onFailure: (key, message) => fault.is('it fails', `${name}: ${key}: ${message}`),
    onRecovered: fault.isOver,
  });
}

/** Brings something into its desired state, again and again. */
export interface Reconciler {
  /** Asks for a run, at once or in so many milliseconds. However often it is asked while one waits, there is one. */
  trigger(inMs?: number): void;
  /** The same, where what a run is made from has changed; see {@link WorkQueue.restart}. */
  restart(inMs?: number): void;
  /** Ends for good, once the run in progress has. */
  stop(): Promise<void>;
}

export interface ReconcilerOptions extends QueueOptions {
  /** One run, from the present state alone. It says in how many milliseconds to run again if nobody asks before; undefined: never. */
  readonly reconcile: () => Promise<number | undefined>;
  /** Least time from the end of one run to the beginning of the next, in milliseconds. */
  readonly pauseMs?: number;
}

/**
 * A queue with one key: runs once at the beginning and whenever asked, never two at a time. A run that fails is repeated after a
 * time that doubles, with jitter; the same failure is logged once.
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
  // By a timer, also at once: what asks in the same moment asks for the same run.
  const trigger = (inMs = 0) => queue.add('', inMs);
  trigger();
  return { trigger, restart: (inMs = 0) => queue.restart('', inMs), stop: queue.stop };
}

const recovered = (name: string) => `${name}: it works again`;

const FIRST_RETRY_MS = 200;
const LONGEST_RETRY_MS = 30_000;

const AT_ONCE = Number.NEGATIVE_INFINITY;
const NEVER = Number.POSITIVE_INFINITY;

/** What is known of a key. Times are of performance.now(). */
interface Item {
  /** When the next look is due, or {@link NEVER}: when somebody asks. */
  due: number;
  /** Looks keep their distance, however often somebody asks. */
  notBefore: number;
  /** After a failure: the same for work that {@link WorkQueue.restart} asks for. */
  notRestartedBefore: number;
  timer: NodeJS.Timeout | undefined;
  /** While it fails. */
  backOff: BackOff | undefined;
}

function newItem(): Item {
  return { due: NEVER, notBefore: AT_ONCE, notRestartedBefore: AT_ONCE, timer: undefined, backOff: undefined };
}

interface StartOptions extends Omit<WorkQueueOptions, 'log'> {
  /** Least time from the end of a look to the beginning of the next at the same key, in milliseconds. */
  readonly pauseMs: number;
  readonly onFailure: (key: string, message: string) => void;
  /** Nothing fails any more. */
  readonly onRecovered: () => void;
}

function startQueue(options: StartOptions): WorkQueue {
  const { work, concurrency, pauseMs, signal, onResult, onFailure, onRecovered } = options;
  const items = new Map<string, Item>();
  /** What is due, in the order in which it came. */
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
    // Asked for while it is worked on: afterwards.
    if (!running.has(key)) arm(key, item);
  }

  function restart(key: string, inMs = 0): void {
    const item = items.get(key);
    item?.backOff?.reset();
    // Never later than before: calls that follow each other closely would put the work off without end.
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
    // A look too early does no harm: it says when to look again.
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
      // Not at once: the work may ask for its own key.
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
      // What was broken off is no failure.
      if (stopped) return;
      if (!item.backOff) failing++;
      item.backOff ??= createBackOff({ minMs: FIRST_RETRY_MS, maxMs: LONGEST_RETRY_MS });
      onFailure(key, (error as Error).message);
      onResult?.('error');
      // Also not before because it was asked for meanwhile.
      const toldMs = toldToWaitMs(error);
      item.notBefore = performance.now() + item.backOff.next(toldMs);
      item.notRestartedBefore = performance.now() + Math.max(FIRST_RETRY_MS, toldMs);
      add(key);
    }
  }
}
