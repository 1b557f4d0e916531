import { startTimer } from './timer.ts';

/** The end of one piece of work: by a timeout, or because the caller ended it. */
export interface Deadline {
  /** Aborted with an Error that says why. */
  readonly signal: AbortSignal;
  /** The remaining time, in milliseconds. */
  leftMs(): number;
  /** Restarts the timeout, with this time and message. */
  restart(ms: number, what: string): void;
  /** Ends the work now. */
  abort(reason: Error): void;
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
  const restart = (later: number, message: string) => {
    clearTimeout(timer);
    end = performance.now() + later;
    timer = startTimer(() => controller.abort(new TimeoutError(message)), later).unref();
  };

  restart(ms, what);
  if (outer?.aborted) giveUp();
  else outer?.addEventListener('abort', giveUp, { once: true });

  return {
    signal: controller.signal,
    leftMs: () => end - performance.now(),
    restart,
    abort: (reason) => controller.abort(reason),
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
  deadline.restart(ms, message);
  for await (const item of items) {
    deadline.restart(ms, message);
    yield item;
  }
}

/** A timeout. */
export class TimeoutError extends Error {
  override name = 'TimeoutError';
}
