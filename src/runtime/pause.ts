import { startTimer } from './timer.ts';

/** The end of one piece of work: by a timeout, or because the caller ended it. */
export interface Deadline {
  /** Aborted with an Error that says why. */
  readonly signal: AbortSignal;
  /** The remaining time, in milliseconds. */
  leftMs(): number;
  /** Restarts the timeout. */
  extend(ms: number, what: string): void;
  /** Removes the timer and the listener. Must be called, or a long-lived outer signal collects listeners. */
  clear(): void;
}

/**
 * @param what the message of the timeout error
 * @param outer ends the work as well, with its own reason
 */
export function startDeadline(ms: number, what: string, outer?: AbortSignal): Deadline {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let end = 0;
  const giveUp = () => controller.abort(outer?.reason);
  const extend = (later: number, message: string) => {
    clearTimeout(timer);
    end = performance.now() + later;
    timer = startTimer(() => controller.abort(new TimeoutError(message)), later).unref();
  };

  extend(ms, what);
  if (outer?.aborted) giveUp();
  else outer?.addEventListener('abort', giveUp, { once: true });

  return {
    signal: controller.signal,
    leftMs: () => end - performance.now(),
    extend,
    clear() {
      clearTimeout(timer);
      outer?.removeEventListener('abort', giveUp);
    },
  };
}

/** The same items. Until the first one, and between two, at most `ms` may pass: then the deadline aborts with the message. */
export async function* limitSilence<T>(
  items: AsyncIterable<T>,
  deadline: Deadline,
  ms: number,
  message: string,
): AsyncGenerator<T, void> {
  deadline.extend(ms, message);
  for await (const item of items) {
    deadline.extend(ms, message);
    yield item;
  }
}

/** A timeout. */
export class TimeoutError extends Error {
  override name = 'TimeoutError';
}

/** The result of the promise, unless the signal aborts first: then throws the signal's reason. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let abort: (() => void) | undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    if (abort) signal.removeEventListener('abort', abort);
  }
}

/** {@link orAborted} for a connection. One that opens after the signal is destroyed, because it would keep the process alive. */
export async function openOrAborted<T extends { destroy(): unknown }>(
  opening: Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  try {
    return await orAborted(opening, signal);
  } catch (error) {
    opening.then(
      (late) => late.destroy(),
      () => {},
    );
    throw error;
  }
}

/** Waits. Ends early, without an error, if the signal aborts. The timer keeps the process alive. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = startTimer(end, ms);
    signal?.addEventListener('abort', end, { once: true });
  });
}
