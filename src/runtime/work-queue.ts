import type { Logger } from 'pino';
import { type BackOff, createBackOff, retryAfterOf } from './back-off.ts';
import { followFault } from './fault-log.ts';
import { startTimer } from './timer.ts';

/** A deduplicating work queue: one worker for each key at a time. What has failed comes after all else that is due. */
export interface WorkQueue {
  /**
   * Adds the key, at once or in so many milliseconds. A key that waits already keeps its earliest time. After a failure it waits for the
   * end of the back-off.
   */
  add(key: string, inMs?: number): void;
  /**
   * Adds a key whose input has changed, such as a policy, or that is of another object of that name: the back-off after failures starts again at its
   * shortest pause. A pause that the server asked for (Retry-After) is kept.
   */
  restart(key: string, inMs?: number): void;
  /** Whether the work for the key is in progress. If the key is added now, it is repeated afterwards. */
  isInProgress(key: string): boolean;
  /** How many keys are due or in progress. Keys that wait for their time are not counted. */
  depth(): number;
  /** Stops. Resolves when the work in progress has ended. */
  stop(): Promise<void>;
}

/** The options of a queue with any number of keys. */
export interface QueueOptions {
  /** For the log. */
  readonly name: string;
  readonly log: Logger;
  readonly onResult?: (result: 'ok' | 'error') => void;
  /** Once it is aborted, no work starts, and errors of work in progress are not failures. */
  readonly signal?: AbortSignal;
}

export interface WorkQueueOptions extends QueueOptions {
  /** Reconciles one key from the present state. Returns in how many milliseconds to repeat it; undefined: only when added. */
  readonly work: (key: string) => Promise<number | undefined>;
  /** How many keys are worked on at the same time. */
  readonly concurrency: number;
  /**
   * Whether the cause of the failure lasts, such as a request that the API server refuses. Thousands of keys may fail for one cause, so such work is
   * repeated less often.
   */
  readonly isLasting?: (error: unknown) => boolean;
}

/** Work that fails is repeated with a back-off for each key. The log has the first failure, and the recovery. */
export function startWorkQueue({ log, ...options }: WorkQueueOptions): WorkQueue {
  const { name } = options;
  const fault = followFault({ warn: (text) => log.error(text), info: (text) => log.info(text) }, recovered(name));
  return startUnloggedQueue({
    ...options,
    pauseMs: 0,
    // If one key fails, a thousand others may fail for the same reason.
    onFailure: (key, message) => fault.occurred('it fails', `${name}: ${key}: ${message}`),
    onRecovered: fault.ended,
  });
}

/** The log line when a fault has ended. */
export const recovered = (name: string) => `${name}: it works again`;

/** Pauses after failures, and after those whose cause lasts. */
const RETRIES = { minMs: 200, maxMs: 30_000 };
const LASTING_RETRIES = { minMs: 1_000, maxMs: 300_000 };

const AT_ONCE = Number.NEGATIVE_INFINITY;
const NEVER = Number.POSITIVE_INFINITY;

/** The state of a key. Times are of performance.now(). */
interface Item {
  /** When the next run is due, or {@link NEVER}. */
  due: number;
  /** No run starts before: the end of the pause or of the back-off. */
  notBefore: number;
  /** After a failure: no run starts before, even after {@link WorkQueue.restart}. */
  notRestartedBefore: number;
  timer: NodeJS.Timeout | undefined;
  /** While it fails. */
  backOff: BackOffs | undefined;
}

/** A key may fail for one cause and another: what lasts does not slow down what may end soon. */
interface BackOffs {
  readonly brief: BackOff;
  readonly lasting: BackOff;
}

function newItem(): Item {
  return { due: NEVER, notBefore: AT_ONCE, notRestartedBefore: AT_ONCE, timer: undefined, backOff: undefined };
}

interface StartOptions extends Omit<WorkQueueOptions, 'log'> {
  /** Minimum time from the end of a run to the start of the next of the same key, in milliseconds. */
  readonly pauseMs: number;
  readonly onFailure: (key: string, message: string) => void;
  /** Called when no key fails any more. */
  readonly onRecovered: () => void;
}

/** {@link startWorkQueue} without a log. */
export function startUnloggedQueue(options: StartOptions): WorkQueue {
  const { work, concurrency, pauseMs, signal, isLasting = () => false, onResult, onFailure, onRecovered } = options;
  const items = new Map<string, Item>();
  /** The keys that are due, in order. */
  const ready = new Set<string>();
  /** The same for those that have failed: others do not wait for them. */
  const retries = new Set<string>();
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
    isInProgress: (key) => running.has(key),
    depth: () => new Set([...ready, ...retries, ...running.keys()]).size,
    async stop() {
      signal?.removeEventListener('abort', end);
      end();
      await Promise.all(running.values());
    },
  };

  function add(key: string, inMs?: number): void {
    if (stopped || isReady(key)) return;
    const item = items.get(key) ?? newItem();
    items.set(key, item);
    const due = inMs === undefined ? AT_ONCE : performance.now() + inMs;
    if (due >= item.due) return;
    item.due = due;
    // A key that is in progress is repeated afterwards.
    if (!running.has(key)) arm(key, item);
  }

  function restart(key: string, inMs?: number): void {
    const item = items.get(key);
    item?.backOff?.brief.reset();
    item?.backOff?.lasting.reset();
    // Never later than before: frequent calls would postpone the work without end.
    if (item?.backOff && !running.has(key) && !isReady(key)) {
      item.notBefore = Math.min(item.notBefore, Math.max(item.notRestartedBefore, performance.now() + (inMs ?? 0)));
      arm(key, item);
    }
    add(key, inMs);
  }

  function arm(key: string, item: Item): void {
    clearTimeout(item.timer);
    if (stopped) return;
    const at = Math.max(item.due, item.notBefore);
    if (at === AT_ONCE) makeReady(key, item);
    // A run that is too early does no harm: it returns when to repeat it.
    else item.timer = startTimer(() => makeReady(key, item), at - performance.now());
  }

  function isReady(key: string): boolean {
    return ready.has(key) || retries.has(key);
  }

  function makeReady(key: string, { backOff }: Item): void {
    (backOff ? retries : ready).add(key);
    begin();
  }

  function begin(): void {
    while (!stopped && running.size < concurrency) {
      const from = ready.size > 0 ? ready : retries;
      const [key] = from;
      if (key === undefined) return;
      from.delete(key);
      const item = items.get(key) as Item;
      item.due = NEVER;
      // Asynchronously: the work may add its own key.
      const done = Promise.resolve()
        .then(() => run(key, item))
        .finally(() => {
          running.delete(key);
          if (item.due < NEVER) arm(key, item);
          else if (!item.backOff && pauseMs === 0) items.delete(key);
          begin();
        });
      running.set(key, done);
    }
  }

  async function run(key: string, item: Item): Promise<void> {
    try {
      const againInMs = await work(key);
      if (item.backOff && --failing === 0) onRecovered();
      item.backOff = undefined;
      item.notBefore = pauseMs === 0 ? AT_ONCE : performance.now() + pauseMs;
      onResult?.('ok');
      if (againInMs !== undefined) add(key, againInMs);
    } catch (error) {
      // Aborted work is not a failure.
      if (stopped) return;
      if (!item.backOff) failing++;
      item.backOff ??= { brief: createBackOff(RETRIES), lasting: createBackOff(LASTING_RETRIES) };
      onFailure(key, (error as Error).message);
      onResult?.('error');
      const retryAfterMs = retryAfterOf(error);
      const lasts = isLasting(error);
      const backOff = lasts ? item.backOff.lasting : item.backOff.brief;
      const { minMs } = lasts ? LASTING_RETRIES : RETRIES;
      item.notBefore = performance.now() + backOff.next(retryAfterMs);
      item.notRestartedBefore = performance.now() + Math.max(minMs, pauseMs, retryAfterMs);
      add(key);
    }
  }
}
