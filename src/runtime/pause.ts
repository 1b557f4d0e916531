import { startTimer } from './timer.ts';

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
